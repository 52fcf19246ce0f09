// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_ENCLOSE_FLOW_H_
#define SN_TF_GRAPPLER_PASS_ENCLOSE_FLOW_H_

#include "grappler_pass/import.h"
#include "grappler_pass/nested_flow.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Adds two ops without nodes for each loop or conditional. Nothing leaves it
// before all has entered, which what is inside waits for by ways that no edge
// shows. What enters stays where it is until all has left, since nobody knows
// when it is read. Of the imported conditionals, the first of the two ops takes
// what their branches may need, and makes what leaves them: it is handed on in
// place.
void EncloseNestedFlow(const tensorflow::GraphDef& graph,
                       const NestedFlow& nested, ImportedGraph* imported);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_ENCLOSE_FLOW_H_
