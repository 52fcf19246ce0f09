// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_KEEP_RANDOM_STATE_H_
#define SN_TF_GRAPPLER_PASS_KEEP_RANDOM_STATE_H_

#include <string>

#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Turns the seeded random ops of `function` into SnKeep, so that the next
// instance of the function goes on where this one ends, as the only instance of
// stock TensorFlow does. The function's name must be unique in the process.
void KeepRandomState(const std::string& function, tensorflow::GraphDef* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_KEEP_RANDOM_STATE_H_
