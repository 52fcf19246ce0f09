// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_RUN_POSITIONS_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_RUN_POSITIONS_H_

#include <cstddef>
#include <vector>

#include "grappler_pass/planner/liveness.h"

namespace sn_tf {

// Where a schedule runs each op for the first time.
class RunPositions {
 public:
  RunPositions(const MemoryGraph& graph, const Schedule& schedule)
      : position_(graph.ops.size(), kNone) {
    for (size_t p = 0; p < schedule.size(); ++p) {
      if (schedule[p].kind == ItemKind::kRun) {
        position_[schedule[p].id] = static_cast<Position>(p);
      }
    }
  }

  Position Of(OpId op) const { return position_[op]; }

  // Whether what `view` was handed out of is still as it was, just before `at`.
  bool IsIntact(const Buffer& view, Position at) const {
    return view.overwriter == kNone || Of(view.overwriter) >= at;
  }

 private:
  std::vector<Position> position_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_RUN_POSITIONS_H_
