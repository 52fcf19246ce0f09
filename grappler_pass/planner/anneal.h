// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_ANNEAL_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_ANNEAL_H_

#include <cstdint>

#include "grappler_pass/planner/plan_search.h"

namespace sn_tf {

// Changes a schedule at random, `changes` times, and goes on from what is
// better or, the less the longer it lasts, from what is worse: by added time,
// and by bytes above the budget, whose price is what keeps the search at the
// budget, and `seconds_per_byte` at first. All on the way is offered.
void Anneal(Schedule schedule, int64_t budget_bytes, double seconds_per_byte,
            int64_t changes, PlanSearch* search);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_ANNEAL_H_
