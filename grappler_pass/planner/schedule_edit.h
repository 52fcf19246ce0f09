// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_SCHEDULE_EDIT_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_SCHEDULE_EDIT_H_

#include <map>
#include <vector>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Collects insertions into a schedule and applies them at once. Before one
// position, swap_outs come first (beside their producer), then recompute
// chains, then swap_ins: a chain's temporaries are gone when the buffers that
// the next op reads come back.
class ScheduleInserter {
 public:
  void SwapOutAfter(Position producer, BufferId buffer);
  // Items that stand before `at` already are not repeated.
  void ChainBefore(Position at, const std::vector<PlanItem>& items);
  void SwapInBefore(Position at, BufferId buffer);
  bool empty() const { return before_.empty(); }

  Schedule Apply(const Schedule& schedule) const;

 private:
  struct Items {
    std::vector<PlanItem> swap_outs, chain, swap_ins;
  };
  std::map<Position, Items> before_;
};

// Whether the schedule copies each buffer out.
std::vector<bool> StoredBuffers(const MemoryGraph& graph,
                                const Schedule& schedule);

// Puts each swap_wait where it frees the memory soonest: directly after the
// last use of the version that is swapped out. Drops those standing.
Schedule PlaceWaits(const MemoryGraph& graph, const Schedule& schedule);

// Moves what stands between two partners (see Op::partner) before or behind
// both, so that a later pass of TensorFlow can still fuse them.
Schedule KeepPartnersTogether(const MemoryGraph& graph,
                              const Schedule& schedule);

// Drops swap_ins and recomputations that nothing reads, and swap_outs that are
// never swapped in, with all that serves only them; then places the waits and
// keeps partners together.
Schedule DropUnused(const MemoryGraph& graph, const Schedule& schedule);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_SCHEDULE_EDIT_H_
