// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_REMATERIALIZE_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_REMATERIALIZE_H_

#include <cstdint>

#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// When what speaks for dropping a buffer is weighed anew.
enum class Rescore {
  kWhenChosen,  // What was just used stays for as long as what else there is
                // costs less than it did before that use.
  kAfterUse,
};

struct RematerializeOptions {
  int64_t budget_bytes = 0;      // Most bytes live at any position.
  int64_t min_buffer_bytes = 0;  // Smaller buffers stay.
  // How much it speaks for dropping a buffer that it is not needed for long:
  // the power of the number of positions until then.
  double distance_power = 0.5;
  // Ops that may have to run for one that is missing, when it is dropped.
  int longest_chain = 32;
  Rescore rescore = Rescore::kWhenChosen;
  // Scores are multiplied by a factor of each buffer, which depends on this
  // number, between a quarter and four; 0: they stay what they are.
  uint32_t noise = 0;
};

// `route`, a schedule of runs only, with recomputation and nothing else, by
// executing it in the budget: where an op finds no room, buffers are dropped;
// where one is missing, it is computed anew, with what that needs, and stays
// until it is dropped again. What goes is what costs least per byte and for how
// long it is not needed: its op, and those ahead of it that would have to run
// too. So chains stay short, and what one brings back serves those behind it.
// (Dynamic tensor rematerialization, arXiv 2006.09616, but the future is
// known.) Empty where the budget is not met so, or only by running ops many
// times.
Schedule Rematerialize(const MemoryGraph& graph,
                       const RematerializeOptions& options,
                       const Schedule& route);

// The fastest of those that meet the budget with different options; empty where
// none does.
Schedule FastestRematerialization(const MemoryGraph& graph,
                                  int64_t budget_bytes,
                                  int64_t min_buffer_bytes,
                                  const Schedule& route);

// A budget near the smallest for which FastestRematerialization finds a
// schedule, to about one part in a thousand; that of the route, with nothing
// recomputed, where there is none below.
int64_t SmallestRematerializationBudget(const MemoryGraph& graph,
                                        int64_t min_buffer_bytes,
                                        const Schedule& route);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_REMATERIALIZE_H_
