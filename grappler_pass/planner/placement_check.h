// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_PLACEMENT_CHECK_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_PLACEMENT_CHECK_H_

#include "cc/core/arena.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Whether each buffer and workspace of the schedule finds a free block when it
// is run in `arena`, which holds what is resident, as it is now. A schedule
// whose bytes fit may fail here: what is free at one time may be in pieces.
bool FindsPlaces(const MemoryGraph& graph, const Schedule& schedule,
                 Arena arena);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PLACEMENT_CHECK_H_
