// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_UNFOLD_CONSTANTS_H_
#define SN_TF_GRAPPLER_PASS_UNFOLD_CONSTANTS_H_

#include "absl/status/status.h"
#include "tensorflow/core/grappler/grappler_item.h"

namespace sn_tf {

// Keeps TensorFlow from holding large constants for as long as the function
// lives, once per instance of it: the first gradients of a loss, or padding,
// are constants as large as activations. Made when they are needed they are
// buffers like others.
//
// Constants whose elements are all the same become an SnSplat; ops that compute
// something large from constants alone, which the runtime would fold once the
// passes are done, get an SnHold before an input.
//
// Only of CPUs and simulated accelerators: the two have no kernels elsewhere.
absl::Status UnfoldConstants(tensorflow::grappler::GrapplerItem* item);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_UNFOLD_CONSTANTS_H_
