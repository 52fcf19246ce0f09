// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_EXPECTED_PEAK_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_EXPECTED_PEAK_H_

#include <cstdint>

#include "grappler_pass/planner/plan.h"
#include "grappler_pass/planner/timeline.h"

namespace sn_tf {

// Bytes at the peak where copies out end as `timeline`, that of the schedule,
// foretells: the memory is free then, which may be long before the swap_wait.
// Never above the schedule's own peak, which holds however long copies take.
int64_t ExpectedPeak(const MemoryGraph& graph, const Schedule& schedule,
                     const Timeline& timeline);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_EXPECTED_PEAK_H_
