// SPDX-License-Identifier: Apache-2.0
//
// What the branches of a step's conditionals may need.
//
// Nobody knows whether the step that is measured takes a branch, or ever will.
// So nothing of it is measured: each branch is taken out as a graph of its own
// and given a route, as a step is, and the rewriter writes that into the graph
// (order_branches.h). What the route needs is all that the branch can need.
// Nothing on a branch moves, and it is not run twice.
#ifndef SN_TF_GRAPPLER_PASS_BRANCHES_H_
#define SN_TF_GRAPPLER_PASS_BRANCHES_H_

#include "grappler_pass/import.h"
#include "grappler_pass/nested_flow.h"
#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Fills `imported->conditionals`. What needs next to nothing counts as resident
// instead. Where there is no telling what a conditional needs, and it may be
// much, `imported->unsupported` says why. Inputs must be connected.
void BoundBranches(const tensorflow::GraphDef& graph, const TensorInfos& infos,
                   const NestedFlow& nested, const ImportOptions& options,
                   ImportedGraph* imported);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_BRANCHES_H_
