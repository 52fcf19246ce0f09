// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_EVICT_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_EVICT_H_

#include <cstdint>
#include <limits>

#include "grappler_pass/planner/cost.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

struct EvictOptions {
  // Live bytes to come down to, at every position.
  int64_t budget_bytes = 0;
  // A peak above this is of no use, however near: there is no need to go on
  // where that is what it will come to. 0: every lower peak is of use.
  int64_t useless_above_bytes = 0;
  bool allow_swap = true;
  bool allow_recompute = true;
  // Smaller buffers stay.
  int64_t min_buffer_bytes = 0;
  // Ends where ops run again for longer, short of the budget.
  double most_recompute_seconds = std::numeric_limits<double>::infinity();
};

// Empties idle windows (gaps between two uses of a version) by swaps and
// recomputation, cheapest per byte first, until no position is over the
// budget or the highest has no window left: no lower peak is within reach then.
// Works peak first; what a window's emptying adds elsewhere is settled by
// analysing the schedule anew between rounds.
Schedule EvictUntilFits(const MemoryGraph& graph, const CostModel& costs,
                        const EvictOptions& options, Schedule schedule);

// Takes back the items that the budget can do without, dearest first: greedy
// choices made early are often made superfluous by later ones.
Schedule RestoreWhereFits(const MemoryGraph& graph, const CostModel& costs,
                          int64_t budget_bytes, Schedule schedule);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_EVICT_H_
