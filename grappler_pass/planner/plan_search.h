// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_PLAN_SEARCH_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_PLAN_SEARCH_H_

#include <cstdint>

#include "grappler_pass/planner/cost.h"
#include "grappler_pass/planner/evict.h"
#include "grappler_pass/planner/plan_front.h"
#include "grappler_pass/planner/plan_judge.h"
#include "grappler_pass/planner/random.h"

namespace sn_tf {

// What a search for schedules of one route goes by, and what it has found.
struct PlanSearch {
  PlanSearch(const MemoryGraph& graph, const CostModel& costs,
             const EvictOptions& options, const Schedule& route)
      : graph(graph),
        costs(costs),
        options(options),
        judge(graph, costs, route),
        random(1) {}

  // Judges the schedule, without what nothing in it needs, and keeps it where
  // it is of use.
  Verdict Offer(int64_t budget_bytes, Schedule* schedule) {
    const Verdict verdict = judge.Cleaned(budget_bytes, schedule);
    if (verdict.valid) {
      front.Offer(*schedule, verdict.peak_bytes, verdict.added_seconds);
    }
    return verdict;
  }

  const MemoryGraph& graph;
  const CostModel& costs;
  const EvictOptions& options;  // What may move, and how.
  Judge judge;
  Random random;
  PlanFront front;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PLAN_SEARCH_H_
