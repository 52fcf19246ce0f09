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
// is missing. Deterministic. Of a small graph (see HasFront) no plan is slower
// than that of a smaller budget. An empty schedule for a non-empty graph: the
// graph has a cycle.
MemoryPlan MakePlan(const MemoryGraph& graph, const PlannerOptions& options);

// What the costs of copies are taken to be.
CostModel CostsOf(const PlannerOptions& options);

// Whether plans may swap at all.
bool MaySwap(const PlannerOptions& options);

// Whether the policy plans the same, and moves something, however large the
// budget is.
bool IgnoresBudget(const PlannerOptions& options);

// What a plan of `schedule` comes to, with nothing about it changed.
MemoryPlan PlanOfSchedule(const MemoryGraph& graph,
                          const PlannerOptions& options, Schedule schedule);

// The plan with the lowest peak, for steps whose workspaces are not known yet.
MemoryPlan MakeSmallestPlan(const MemoryGraph& graph,
                            const PlannerOptions& options);

// The same for steps whose sizes are not known either: what saves most at the
// sizes that `graph` assumes saves most at any. Nothing stays, or comes back
// early, for finding room at those sizes, and all that is held across `op`
// (kNone: no op) is swapped out meanwhile if it may be.
MemoryPlan MakeAssumedPlan(const MemoryGraph& graph,
                           const PlannerOptions& options, OpId op);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PLANNER_H_
