// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/recompute.h"

#include <utility>

namespace sn_tf {
namespace {

// A longer chain would run more ops than any saving is worth, and bounds the
// depth of the search.
constexpr int kMaxChainOps = 256;

// Ops that all searches together may come to, for each op of the graph.
constexpr int64_t kMostVisits = 8;

}  // namespace

ChainFinder::ChainFinder(const MemoryGraph& graph, const CostModel& costs,
                         const Schedule& schedule, const Liveness& liveness,
                         const std::vector<bool>& stored)
    : graph_(graph),
      costs_(costs),
      liveness_(liveness),
      stored_(stored),
      runs_(graph, schedule),
      op_search_(graph.ops.size(), 0),
      buffer_search_(graph.buffers.size(), 0) {}

std::optional<RecomputeChain> ChainFinder::Find(BufferId buffer, Position at,
                                                double max_seconds) {
  RecomputeChain chain;
  if (all_visited_ > kMostVisits * static_cast<int64_t>(graph_.ops.size())) {
    return std::nullopt;
  }
  ++search_;
  visited_ = 0;
  if (!Collect(graph_.buffers[buffer].producer, at, max_seconds, &chain)) {
    return std::nullopt;
  }
  return chain;
}

bool ChainFinder::Collect(OpId op, Position at, double max_seconds,
                          RecomputeChain* chain) {
  if (std::exchange(op_search_[op], search_) == search_) return true;
  if (visited_++ == kMaxChainOps) return false;
  ++all_visited_;
  if (!graph_.ops[op].pure) return false;
  chain->seconds += graph_.ops[op].seconds;
  if (chain->seconds > max_seconds) return false;
  for (const BufferId b : graph_.ops[op].reads) {
    const Buffer& buffer = graph_.buffers[b];
    if (buffer.view) {
      if (!runs_.IsIntact(buffer, at)) return false;
    } else if (AliveAt(b, at)) {
      continue;
    } else if (stored_[b]) {
      if (std::exchange(buffer_search_[b], search_) == search_) continue;
      chain->items.push_back({ItemKind::kSwapIn, b});
      chain->seconds += costs_.CopySeconds(buffer.bytes);
    } else if (!Collect(buffer.producer, at, max_seconds, chain)) {
      return false;
    }
  }
  chain->items.push_back({ItemKind::kRecompute, op});
  return chain->seconds <= max_seconds;
}

bool ChainFinder::AliveAt(BufferId buffer, Position at) const {
  // Those before have ended where it begins.
  const int32_t version = liveness_.LastBefore(buffer, at);
  return version != kNone && at <= liveness_.versions[version].end;
}

}  // namespace sn_tf
