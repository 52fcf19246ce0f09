// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/span_index.h"

#include "grappler_pass/planner/graph.h"

namespace sn_tf {

// The tree stands in an array: the leaf of position p is node leaves_ + p, the
// parent of node n is n / 2.
template <typename Visit>
void SpanIndex::ForNodesOf(const Span& span, Visit visit) const {
  int32_t low = span.first + leaves_;
  int32_t high = span.last + 1 + leaves_;
  for (; low < high; low /= 2, high /= 2) {
    if (low % 2 == 1) visit(low++);
    if (high % 2 == 1) visit(--high);
  }
}

SpanIndex::SpanIndex(Position positions, const std::vector<Span>& spans)
    : leaves_(positions),
      removed_(spans.size(), false),
      begin_(2 * static_cast<size_t>(positions), 0),
      end_(2 * static_cast<size_t>(positions), 0) {
  for (const Span& span : spans) {
    ForNodesOf(span, [this](int32_t node) { ++end_[node]; });
  }
  int32_t total = 0;
  for (size_t node = 0; node < begin_.size(); ++node) {
    begin_[node] = total;
    total += end_[node];
    end_[node] = begin_[node];
  }
  spans_.resize(total);
  for (size_t i = 0; i < spans.size(); ++i) {
    ForNodesOf(spans[i], [this, i](int32_t node) {
      spans_[end_[node]++] = static_cast<int32_t>(i);
    });
  }
}

int32_t SpanIndex::FirstOver(Position at) {
  int32_t first = kNone;
  for (int32_t node = at + leaves_; node > 0; node /= 2) {
    int32_t& begin = begin_[node];
    while (begin < end_[node] && removed_[spans_[begin]]) ++begin;
    if (begin == end_[node]) continue;
    if (first == kNone || spans_[begin] < first) first = spans_[begin];
  }
  return first;
}

}  // namespace sn_tf
