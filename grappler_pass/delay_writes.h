// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_DELAY_WRITES_H_
#define SN_TF_GRAPPLER_PASS_DELAY_WRITES_H_

#include <vector>

#include "grappler_pass/import.h"
#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// For a step whose workspaces are not known: puts every write of state behind
// all ops that do not depend on one, so that a step which runs out of memory
// there has changed nothing. An op without a node stands between the two;
// `imported->before_writes` is its id. Writes that feed `inputs` stay.
void DelayWrites(const tensorflow::GraphDef& graph,
                 const std::vector<StepInput>& inputs, ImportedGraph* imported);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_DELAY_WRITES_H_
