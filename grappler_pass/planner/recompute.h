// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_RECOMPUTE_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_RECOMPUTE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "grappler_pass/planner/cost.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/plan.h"
#include "grappler_pass/planner/run_positions.h"

namespace sn_tf {

// Items that bring a buffer back when run in order, and the time they take.
struct RecomputeChain {
  std::vector<PlanItem> items;
  double seconds = 0;
};

// Finds recompute chains against one analysed schedule.
class ChainFinder {
 public:
  // `stored[b]`: the schedule copies buffer b out.
  ChainFinder(const MemoryGraph& graph, const CostModel& costs,
              const Schedule& schedule, const Liveness& liveness,
              const std::vector<bool>& stored);

  // The chain that writes `buffer` anew just before position `at`: its
  // producer, and recursively (paper, section 3.4) the producers of what is
  // not in memory there; an input that a tier holds is swapped in. None where
  // an op on the way is not pure, a variable that it reads has been
  // overwritten, or the time passes `max_seconds`; and after many long
  // searches, since what they find has many ops and is no good.
  std::optional<RecomputeChain> Find(BufferId buffer, Position at,
                                     double max_seconds);

 private:
  bool Collect(OpId op, Position at, double max_seconds, RecomputeChain* chain);
  bool AliveAt(BufferId buffer, Position at) const;

  const MemoryGraph& graph_;
  const CostModel& costs_;
  const Liveness& liveness_;
  const std::vector<bool>& stored_;
  const RunPositions runs_;
  // The search now under way, and the latest that has come to each op, and that
  // has brought back each buffer from its tier.
  int64_t search_ = 0;
  int visited_ = 0;          // Ops, in this search.
  int64_t all_visited_ = 0;  // In all.
  std::vector<int64_t> op_search_;
  std::vector<int64_t> buffer_search_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_RECOMPUTE_H_
