// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_CONTROL_INPUTS_H_
#define SN_TF_GRAPPLER_PASS_CONTROL_INPUTS_H_

#include <string>

#include "tensorflow/core/framework/node_def.pb.h"

namespace sn_tf {

void RemoveControlInputs(tensorflow::NodeDef* node);

// Adds a control input from the node `before`, unless `node` waits for it or
// reads from it already.
void WaitFor(const std::string& before, tensorflow::NodeDef* node);

// Of two ops that may be fused, neither waits for what the other reads:
// TensorFlow fuses them only where their control inputs do not differ.
void DropWaitsForInputs(const tensorflow::NodeDef& reader,
                        tensorflow::NodeDef* node);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_CONTROL_INPUTS_H_
