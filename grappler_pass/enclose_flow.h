// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_ENCLOSE_FLOW_H_
#define SN_TF_GRAPPLER_PASS_ENCLOSE_FLOW_H_

#include "grappler_pass/import.h"
#include "grappler_pass/nested_flow.h"
#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Counts what is inside of conditionals, but in no loop, as if all of it were
// in memory for the whole step. Where that is much, sets `unsupported`.
void BoundBranches(const tensorflow::GraphDef& graph, const TensorInfos& infos,
                   const NestedFlow& nested, ImportedGraph* imported);

// Adds two ops without nodes for each loop or conditional. Nothing leaves it
// before all has entered, which what is inside waits for by ways that no edge
// shows. What enters stays where it is until all has left, since nobody knows
// when it is read.
void EncloseNestedFlow(const tensorflow::GraphDef& graph,
                       const NestedFlow& nested, ImportedGraph* imported);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_ENCLOSE_FLOW_H_
