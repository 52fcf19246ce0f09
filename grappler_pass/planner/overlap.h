// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_OVERLAP_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_OVERLAP_H_

#include <cstdint>

#include "grappler_pass/planner/cost.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Moves swap_waits later and swap_ins earlier, so that copies run behind
// computation (paper, section 3.3), as far as the budget leaves room, and
// farther than the costs ask for where there is some left: copies and ops take
// longer at times. Each link is busy with one copy at a time, in schedule
// order.
Schedule OverlapCopies(const MemoryGraph& graph, const CostModel& costs,
                       int64_t budget_bytes, const Schedule& schedule);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_OVERLAP_H_
