// SPDX-License-Identifier: Apache-2.0
//
// Which outputs share the memory of an input.
#ifndef SN_TF_GRAPPLER_PASS_ALIASES_H_
#define SN_TF_GRAPPLER_PASS_ALIASES_H_

#include <vector>

#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace sn_tf {

// The data input whose memory output `port` shares; -1: the output has memory
// of its own. Whole tensors are always shared; slices along the first dimension
// where they begin at aligned addresses.
int AliasedInput(const tensorflow::NodeDef& node, int port,
                 const std::vector<TensorInfo>& inputs,
                 const std::vector<TensorInfo>& outputs);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_ALIASES_H_
