// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the simulated accelerator: for each kernel that TensorFlow has
// for GPUs and also for the CPU, one that says of itself what the GPU's says
// (types, which arguments are in host memory) and computes with the CPU's.
// An op that has no kernel there runs on the CPU, as beside a GPU.
#ifndef SN_TF_CC_DEVICE_SIM_KERNELS_H_
#define SN_TF_CC_DEVICE_SIM_KERNELS_H_

#include <string>

namespace sn_tf {

// To be called once. Returns an empty string, or why there can be none.
std::string RegisterSimKernels();

}  // namespace sn_tf

#endif  // SN_TF_CC_DEVICE_SIM_KERNELS_H_
