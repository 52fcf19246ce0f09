// SPDX-License-Identifier: Apache-2.0
//
// What moves of variables (state_moves.h) are to the planner.
#ifndef SN_TF_GRAPPLER_PASS_MOVED_STATE_H_
#define SN_TF_GRAPPLER_PASS_MOVED_STATE_H_

#include <vector>

#include "grappler_pass/import.h"
#include "grappler_pass/planner/plan.h"
#include "grappler_pass/planner/report.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// A variable that is in memory from one op of the graph to another.
struct MovedState {
  OpId in = kNone;   // SnStateIn.
  OpId out = kNone;  // SnStateOut.
  BufferId buffer = kNone;
};

// Those of an imported graph, in order of name.
std::vector<MovedState> MovedStateOf(const ImportedGraph& imported);

// Takes the variables that `graph` moves out of the resident bytes, and makes
// buffers of them that a plan may not move.
void CountMovedState(const tensorflow::GraphDef& graph,
                     ImportedGraph* imported);

// The copies take what a link of that bandwidth takes, and are not hidden
// behind computation.
void SetStateSeconds(double bytes_per_s, ImportedGraph* imported);

// Adds to a report what `imported` moves of variables.
void ReportMovedState(const ImportedGraph& imported, const Schedule& schedule,
                      PlanReport* report);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_MOVED_STATE_H_
