// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_FRONT_SEARCH_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_FRONT_SEARCH_H_

#include <cstdint>
#include <functional>

#include "grappler_pass/planner/cost.h"
#include "grappler_pass/planner/evict.h"
#include "grappler_pass/planner/plan.h"
#include "grappler_pass/planner/plan_front.h"

namespace sn_tf {

// Whether there is something to find in so short a route, and in little time.
bool HasFront(const Schedule& route);

// Schedules of `route` for all budgets at once, so that none depends on which
// is asked for: those that `plan_for` makes for some budgets between the floor
// and the route's peak, and what annealing makes of them. The same input gives
// the same schedules. What may move is in `options`.
PlanFront FindFront(const MemoryGraph& graph, const CostModel& costs,
                    const EvictOptions& options, const Schedule& route,
                    const std::function<Schedule(int64_t budget)>& plan_for);

// A schedule of the front whose copies have as much time as the budget has room
// for. It takes as long as the costs foretell it to take without that: what is
// faster in one budget might not be in a larger one.
Schedule WithSlack(const MemoryGraph& graph, const CostModel& costs,
                   int64_t budget_bytes, const PlanFront::Entry& entry);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_FRONT_SEARCH_H_
