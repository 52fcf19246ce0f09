// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_SIDE_BY_SIDE_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_SIDE_BY_SIDE_H_

#include <cstdint>
#include <vector>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Two neighbours in a schedule that may run at the same time; each is an op, or
// two that may be fused.
struct SideBySide {
  Position first_end = 0;  // The last position of the one.
  Position begin = 0;      // Positions of the other.
  Position end = 0;
};

// Pairs, disjoint and in the order of the schedule, whose members do not need
// each other, change no state, and need no more than `peak_bytes` while both
// run, whichever ends first. Of all such choices the one in which most time is
// spent side by side. A total order alone would leave cores idle that one op
// cannot use; order edges between the members of a pair are not needed.
std::vector<SideBySide> FindSideBySide(const MemoryGraph& graph,
                                       const Schedule& schedule,
                                       int64_t peak_bytes);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_SIDE_BY_SIDE_H_
