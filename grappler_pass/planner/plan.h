// SPDX-License-Identifier: Apache-2.0
//
// The plan is data: the route with the plan's own items between its ops.
//
// A step executed by the plan, items from top to bottom:
//
//   run       conv1            writes A
//   swap_out  A                copies A to a tier, beside what follows
//   run       relu1            reads A, writes B
//   swap_wait A                from here on A's memory is free
//   run       conv2            reads B
//   ...
//   swap_in   A                allocates A anew and copies it back
//   recompute relu1            reads A, writes B anew
//   run       conv2_grad       reads B
//
// Version: each item that writes a buffer (run, swap_in, recompute) begins a
// new version of it. A read refers to the latest version. A version's memory is
// held from the item that begins it to its last read (a swapped-out version
// also to its swap_wait). Whatever items a plan has, reads are therefore right;
// only the peak depends on them.
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_PLAN_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "grappler_pass/planner/graph.h"

namespace sn_tf {

// A total order of the ops: the paper's execution route (section 3.1).
using Route = std::vector<OpId>;

enum class ItemKind {
  kRun,        // The op itself; each op exactly once.
  kRecompute,  // The op once more.
  kSwapOut,    // Starts copying the buffer out; directly after its producer.
  kSwapWait,   // Later items wait until the copy out has freed the memory.
  kSwapIn,     // Starts copying the buffer back in.
};

// Whether items of that kind are ops: their ids are then of ops.
inline bool IsOp(ItemKind kind) {
  return kind == ItemKind::kRun || kind == ItemKind::kRecompute;
}

struct PlanItem {
  ItemKind kind = ItemKind::kRun;
  int32_t id = kNone;  // Of an op (see IsOp), otherwise of a buffer.

  bool operator==(const PlanItem& other) const {
    return kind == other.kind && id == other.id;
  }
};

using Schedule = std::vector<PlanItem>;

// When what a plan swaps out leaves.
enum class Departure {
  kAtOnce,      // The plan needs the memory.
  kWhenNeeded,  // It may turn out not to: the tensor cache decides.
};

// Seconds that a plan adds to a step; see Simulate.
struct AddedTime {
  double recompute = 0;
  double stalls = 0;        // Ops wait for copies.
  double interference = 0;  // What hidden copies take from the computation.
  double apart = 0;         // See Buffer::apart_seconds.

  double total() const { return recompute + stalls + interference + apart; }
};

struct MemoryPlan {
  Schedule schedule;
  Departure departure = Departure::kAtOnce;
  bool feasible = false;
  int64_t budget_bytes = 0;         // 0: none.
  int64_t peak_bytes = 0;           // Of this schedule, resident included.
  int64_t expected_peak_bytes = 0;  // See ExpectedPeak; at most the former.
  int64_t route_peak_bytes = 0;     // Of the route with nothing moved.
  int64_t floor_bytes = 0;
  // The smallest budget that this planner is known to meet: a plan with that
  // budget is feasible. 0 where it was not needed.
  int64_t min_budget_bytes = 0;
  OpId limiting_op = kNone;  // Runs at the peak.
  AddedTime added;
  double step_seconds = 0;  // Of the route alone.

  // Bytes by which the budget is missed; 0 for a feasible plan.
  int64_t unmet_bytes() const {
    return feasible || budget_bytes == 0 ? 0 : peak_bytes - budget_bytes;
  }
};

// "run", "recompute", "swap_out", "swap_wait" or "swap_in".
const char* KindName(ItemKind kind);

// One line per item: "recompute relu1". For golden tests and logs.
std::string ScheduleToText(const MemoryGraph& graph, const Schedule& schedule);

// The schedule with a kRun per op of the route.
Schedule ScheduleOfRoute(const Route& route);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PLAN_H_
