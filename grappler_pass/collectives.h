// SPDX-License-Identifier: Apache-2.0
//
// Collective ops: each device of a group has one, and none of them ends before
// all have begun. No edge of the graph says so.
#ifndef SN_TF_GRAPPLER_PASS_COLLECTIVES_H_
#define SN_TF_GRAPPLER_PASS_COLLECTIVES_H_

#include "grappler_pass/import.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Makes the collective ops that meet come after all that any of them comes
// after, and before all that any of them comes before: as if they were one op.
// Orders of several devices that follow such a graph cannot wait for each other
// in a circle.
void CoupleCollectives(const tensorflow::GraphDef& graph,
                       ImportedGraph* imported);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_COLLECTIVES_H_
