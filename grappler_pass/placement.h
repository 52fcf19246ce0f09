// SPDX-License-Identifier: Apache-2.0
//
// Which of a graph's tensors are in the memory of the device that is planned.
#ifndef SN_TF_GRAPPLER_PASS_PLACEMENT_H_
#define SN_TF_GRAPPLER_PASS_PLACEMENT_H_

#include <string>
#include <vector>

#include "tensorflow/core/framework/node_def.pb.h"

namespace sn_tf {

// Of one node.
struct NodePlacement {
  bool on_device = true;
  // Per data input and output: whether it is in the device's memory. An
  // accelerator's ops have some in the host's. Empty: all are.
  std::vector<bool> inputs;
  std::vector<bool> outputs;

  bool HasInput(size_t input) const {
    return on_device && (input >= inputs.size() || inputs[input]);
  }
  bool HasOutput(size_t output) const {
    return on_device && (output >= outputs.size() || outputs[output]);
  }
};

// The name by which the memory of a TensorFlow device is managed: "SIM:0" of
// "/job:localhost/replica:0/task:0/device:SIM:0"; "" where it names none.
std::string ManagedDevice(const std::string& device);

// Whether the CPU's kernels serve it: on CPUs and on simulated accelerators. A
// node without a device is on a CPU.
bool HasCpuKernels(const tensorflow::NodeDef& node);

// `device` is a name such as "CPU:0". A node without a device is on it.
NodePlacement PlacementOf(const tensorflow::NodeDef& node,
                          const std::string& device);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLACEMENT_H_
