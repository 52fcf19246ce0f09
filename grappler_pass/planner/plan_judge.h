// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_PLAN_JUDGE_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_PLAN_JUDGE_H_

#include <cstdint>
#include <vector>

#include "grappler_pass/planner/cost.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// What a schedule comes to.
struct Verdict {
  bool valid = false;  // The others are of valid schedules.
  int64_t peak_bytes = 0;
  Position peak = kNone;  // The first of equals.
  // Bytes above the budget, on the average over the positions.
  double excess_bytes = 0;
  double added_seconds = 0;
};

// Says of schedules with the same route, in one go and in memory that it keeps,
// what AnalyzeLiveness and Simulate say, and whether they are valid: what runs
// again may, copies are where they can be, and partners are together.
class Judge {
 public:
  Judge(const MemoryGraph& graph, const CostModel& costs,
        const Schedule& route);

  Verdict Of(const Schedule& schedule, int64_t budget_bytes);

  // The same of what is left of it where items go that nothing needs: nothing
  // reads what they bring back, or nothing comes back of what they copy.
  Verdict Cleaned(int64_t budget_bytes, Schedule* schedule);

 private:
  struct Held {
    BufferId buffer;
    Position begin;
    Position end;
    Position last_read;  // kNone: none.
    bool copied_out;
  };
  enum class Copy : uint8_t { kNone, kLeaving, kStored };

  void Reset(const Schedule& schedule);
  bool Visit(const PlanItem& item, Position p);
  bool VisitOp(const PlanItem& item, Position p);
  bool MayRunAgain(const Op& op) const;
  void NoteInPlace(const Op& op, Position p);
  bool MayStandThere(const PlanItem& item);
  void Begin(BufferId b, Position p);
  void Read(BufferId b, Position p);
  void StallUntil(double time);
  void CopyOver(BufferId b, double* link_free, std::vector<double>* end);
  void Hold(Position begin, Position end, int64_t bytes);
  void HoldAll(const Schedule& schedule);
  bool EndsAt(const Schedule& schedule, int32_t version, Position at) const;
  bool IsUnused(const PlanItem& item, size_t p) const;

  const MemoryGraph& graph_;
  const CostModel& costs_;
  std::vector<Held> versions_;
  // Of each buffer: the latest version, and the first.
  std::vector<int32_t> latest_, first_of_;
  std::vector<Copy> copies_;
  std::vector<bool> comes_back_;
  std::vector<Position> run_at_;  // Of each op; kNone: not yet.
  // Of each op, the partner that comes next on the route; kNone: another does.
  std::vector<OpId> next_partner_;
  OpId awaited_ = kNone;  // What must come next; kNone: anything may.
  // Positions that may write in place, and the versions that it would be into.
  std::vector<Position> in_place_at_;
  std::vector<int32_t> in_place_of_;
  std::vector<Position> views_until_;  // By who overwrites them.
  std::vector<int64_t> change_;
  std::vector<int32_t> first_version_;  // Begun at each position or later.
  double now_ = 0, added_ = 0, out_free_ = 0, in_free_ = 0;
  std::vector<double> out_end_, in_end_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PLAN_JUDGE_H_
