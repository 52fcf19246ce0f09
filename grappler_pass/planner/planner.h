// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_PLANNER_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_PLANNER_H_

#include "grappler_pass/planner/cost.h"
#include "grappler_pass/planner/options.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Plans one step. With policy "liveness" or no budget: the route alone.
// Otherwise swaps and recomputation that meet the budget at the least cost
// this planner finds; where it finds none, the plan is the smallest it can
// make, with feasible = false, and min_budget_bytes and limiting_op say what
// is missing. Deterministic. An empty schedule for a non-empty graph: the
// graph has a cycle.
MemoryPlan MakePlan(const MemoryGraph& graph, const PlannerOptions& options);

// The plan with the lowest peak, for steps whose true sizes are not known yet:
// what saves most at assumed sizes saves most at any.
MemoryPlan MakeSmallestPlan(const MemoryGraph& graph,
                            const PlannerOptions& options);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PLANNER_H_
