// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_TIMELINE_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_TIMELINE_H_

#include <vector>

#include "grappler_pass/planner/cost.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// A step as the costs foretell it: ops one after the other, and beside them
// each direction of the link, with one copy at a time, in schedule order.
struct Timeline {
  // Seconds at which each position starts; its stall, if any, is over then.
  std::vector<double> start;
  // Seconds at which it ends: of a copy, that in its link.
  std::vector<double> end;
  double seconds = 0;  // Of all.
  // What of it is no op of the route; interference and apart are not in
  // `seconds`.
  AddedTime added;
};

Timeline Simulate(const MemoryGraph& graph, const CostModel& costs,
                  const Schedule& schedule);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_TIMELINE_H_
