// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_PROSPECT_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_PROSPECT_H_

#include <vector>

#include "grappler_pass/planner/graph.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/plan.h"
#include "grappler_pass/planner/slice.h"

namespace sn_tf {

// What is known beforehand of every execution of a route with recomputation.
// Refers to both.
class Prospect {
 public:
  Prospect(const MemoryGraph& graph, const Schedule& route);
  // The slices point to what a copy would not own.
  Prospect(const Prospect&) = delete;
  Prospect& operator=(const Prospect&) = delete;

  const MemoryGraph& graph() const { return graph_; }
  const Schedule& route() const { return route_; }
  double step_seconds() const { return step_seconds_; }
  Position End() const { return static_cast<Position>(route_.size()); }

  // Where the buffer is read; ascending.
  Slice UsesOf(BufferId b) const { return uses_[b]; }

  // Until when the op may run again, with all that it is computed from. Up to
  // its last use a buffer is there or can be computed anew, because otherwise
  // it is not dropped; a variable is as it was until it is overwritten.
  Position LimitOf(OpId op) const { return limit_[op]; }

 private:
  void FindLimits();

  const MemoryGraph& graph_;
  const Schedule& route_;
  const double step_seconds_;
  std::vector<Slice> uses_;  // Of each buffer.
  std::vector<Position> all_uses_;
  std::vector<Position> limit_;  // Of each op.
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PROSPECT_H_
