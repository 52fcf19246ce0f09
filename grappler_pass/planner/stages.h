// SPDX-License-Identifier: Apache-2.0
//
// Where memory is plentiful, ops need no order.
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_STAGES_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_STAGES_H_

#include <cstdint>
#include <vector>

#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Divides the schedule into as few stages as `limit_bytes` allows: everything
// that a stage takes fits beside what was in use before it, so no order of its
// items passes the limit, whatever they free and when. Where a single item
// passes it, that is a stage, as are two partners. Waits end a stage.
std::vector<Position> DivideIntoStages(const MemoryGraph& graph,
                                       const Schedule& schedule,
                                       int64_t limit_bytes);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_STAGES_H_
