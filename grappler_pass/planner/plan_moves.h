// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_PLAN_MOVES_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_PLAN_MOVES_H_

#include <cstdint>
#include <vector>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/plan.h"
#include "grappler_pass/planner/plan_search.h"

namespace sn_tf {

// Small changes of a schedule, at random: a buffer goes and comes back between
// two of its uses, by a swap or a recomputation; an item is dropped, moved, or
// replaced by one of the other kind. What comes out need not be valid, and may
// hold items that nothing needs (see Judge).
class PlanMoves {
 public:
  explicit PlanMoves(PlanSearch* search);

  // False where what was tried is of no use here; the schedule may have
  // changed all the same. What goes is in memory at `over`, unless that is
  // kNone.
  bool Change(Position over, Schedule* schedule);

 private:
  bool ChangeOnce(Position over, Schedule* schedule);
  // Brings a buffer back before one of its uses.
  bool Add(Position over, Schedule* schedule);
  bool Drop(Schedule* schedule);
  bool Shift(Schedule* schedule);
  bool Replace(Schedule* schedule);

  // The position of an item of the plan's own, at random; kNone: has none.
  Position AnItem(const Schedule& schedule, bool copies_too);
  // Has `b` computed anew, or swapped in, before `at`.
  bool RecomputeBefore(BufferId b, Position at, Schedule* schedule);
  bool SwapBefore(BufferId b, Position at, Schedule* schedule);
  Position InTime(BufferId b, Position at, const Schedule& schedule) const;
  double CopySeconds(BufferId b) const;
  double Seconds(const PlanItem& item) const;
  // Puts the wait where the first version is read for the last time.
  void PlaceWait(BufferId b, Schedule* schedule);
  bool Collect(OpId op, Position at, const Schedule& schedule,
               std::vector<PlanItem>* items);
  bool IsAlive(BufferId b, Position at, const Schedule& schedule) const;
  bool IsStored(BufferId b, Position at, const Schedule& schedule) const;
  // `at`, or before the op ahead of it where the two are partners.
  Position BeforePair(Position at, const Schedule& schedule) const;
  bool Reads(const PlanItem& item, BufferId b) const;
  bool Begins(const PlanItem& item, BufferId b) const;

  const MemoryGraph& graph_;
  const CostModel& costs_;
  const EvictOptions& options_;
  Random& random_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PLAN_MOVES_H_
