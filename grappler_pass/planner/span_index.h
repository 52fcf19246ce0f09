// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_SPAN_INDEX_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_SPAN_INDEX_H_

#include <cstdint>
#include <vector>

#include "grappler_pass/planner/liveness.h"

namespace sn_tf {

// From `first` to `last`, both included; empty where `last` is less.
struct Span {
  Position first = 0;
  Position last = 0;
};

// Spans in order of preference: finds the first that covers a position, in
// logarithmic time, but for the removed ones that it comes across, each of them
// in few places and never again in those.
class SpanIndex {
 public:
  // Of positions in [0, positions).
  SpanIndex(Position positions, const std::vector<Span>& spans);

  // Index of the first span over `at` that has not been removed; kNone: none.
  int32_t FirstOver(Position at);

  void Remove(int32_t span) { removed_[span] = true; }

 private:
  // Calls `visit` for the nodes of the segment tree that make up `span`.
  template <typename Visit>
  void ForNodesOf(const Span& span, Visit visit) const;

  const int32_t leaves_;
  std::vector<bool> removed_;
  // The spans of each node, in order, one node's after another's.
  std::vector<int32_t> spans_;
  std::vector<int32_t> begin_;  // Of each node's; past the removed ones.
  std::vector<int32_t> end_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_SPAN_INDEX_H_
