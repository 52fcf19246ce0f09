// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_OP_COSTS_H_
#define SN_TF_GRAPPLER_PASS_OP_COSTS_H_

#include <vector>

#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace sn_tf {

// Estimated run time of one op from its type and shapes: the larger of what
// its arithmetic and what its memory traffic takes, on a CPU of two cores.
double EstimateSeconds(const tensorflow::NodeDef& node,
                       const std::vector<TensorInfo>& inputs,
                       const std::vector<TensorInfo>& outputs);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_OP_COSTS_H_
