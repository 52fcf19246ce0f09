// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/route.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "grappler_pass/planner/op_kinds.h"
#include "grappler_pass/planner/phases.h"

namespace sn_tf {
namespace {

using Successors = std::vector<std::vector<OpId>>;

// Position of each op in a depth-first order from the sinks, inputs first.
// Soft predecessors are visited too, so the order is only a preference.
class DepthFirst {
 public:
  DepthFirst(const MemoryGraph& graph, const Successors& successors,
             const std::vector<int32_t>& level)
      : graph_(graph),
        level_(level),
        moves_state_(
            std::any_of(graph.ops.begin(), graph.ops.end(), IsStateOut)),
        position_(graph.ops.size(), kNone) {
    std::vector<OpId> sinks;
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      if (successors[i].empty()) sinks.push_back(static_cast<OpId>(i));
    }
    // What a variable is used for comes with the update that it is used for.
    std::sort(sinks.begin(), sinks.end(), [&](OpId a, OpId b) {
      return std::make_tuple(IsStateOut(graph.ops[a]), level[a], a) <
             std::make_tuple(IsStateOut(graph.ops[b]), level[b], b);
    });
    for (const OpId sink : sinks) Visit(sink);
  }

  const std::vector<int32_t>& position() const { return position_; }

 private:
  struct Frame {
    OpId op;
    std::vector<OpId> inputs;
    size_t next = 0;
  };

  static constexpr int32_t kOnStack = -2;

  Frame Enter(OpId op) {
    position_[op] = kOnStack;
    Frame frame{op, graph_.ops[op].after, 0};
    // What computes wants its deepest input first, which leaves the least in
    // memory beside it. What only gathers (the step's end, behind all weight
    // updates) lets each go as soon as it can.
    const bool gathers = !graph_.TouchesMemory(op);
    const int sign = gathers ? 1 : -1;
    // Where variables move, one that is updated on the way to another update
    // comes with that one, so that few are in memory at a time.
    const std::vector<bool> on_the_way =
        gathers && moves_state_ && frame.inputs.size() > 1
            ? LeadTo(frame.inputs)
            : std::vector<bool>();
    const auto waits = [&on_the_way](OpId input) {
      return !on_the_way.empty() && on_the_way[input];
    };
    std::sort(frame.inputs.begin(), frame.inputs.end(), [&](OpId a, OpId b) {
      return std::make_tuple(waits(a), sign * level_[a], a) <
             std::make_tuple(waits(b), sign * level_[b], b);
    });
    const std::vector<OpId>& soft = graph_.ops[op].soft_after;
    frame.inputs.insert(frame.inputs.end(), soft.begin(), soft.end());
    if (graph_.ops[op].partner != kNone) {
      const std::vector<OpId>& other = graph_.ops[graph_.ops[op].partner].after;
      frame.inputs.insert(frame.inputs.end(), other.begin(), other.end());
    }
    return frame;
  }

  // Per op, whether one of `ops` comes after it.
  std::vector<bool> LeadTo(const std::vector<OpId>& ops) const {
    std::vector<bool> leads(graph_.ops.size(), false);
    std::vector<OpId> open = ops;
    while (!open.empty()) {
      const OpId op = open.back();
      open.pop_back();
      for (const OpId before : graph_.ops[op].after) {
        if (!leads[before]) open.push_back(before);
        leads[before] = true;
      }
    }
    return leads;
  }

  void Visit(OpId sink) {
    if (position_[sink] != kNone) return;
    std::vector<Frame> stack;
    stack.push_back(Enter(sink));
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next == top.inputs.size()) {
        position_[top.op] = next_position_++;
        stack.pop_back();
        continue;
      }
      const OpId input = top.inputs[top.next++];
      if (position_[input] == kNone) stack.push_back(Enter(input));
    }
  }

  const MemoryGraph& graph_;
  const std::vector<int32_t>& level_;
  const bool moves_state_;
  std::vector<int32_t> position_;
  int32_t next_position_ = 0;
};

// List scheduling: of the ready ops, one that frees memory, else the first in
// the preferred order.
class ListScheduler {
 public:
  ListScheduler(const MemoryGraph& graph, const Successors& successors,
                std::vector<int32_t> preference)
      : graph_(graph),
        successors_(successors),
        preference_(std::move(preference)),
        missing_(graph.ops.size()),
        done_(graph.ops.size(), false),
        unread_(graph.buffers.size()),
        overwrites_(graph.ops.size()) {
    for (size_t b = 0; b < graph.buffers.size(); ++b) {
      unread_[b] = graph.buffers[b].readers.size();
      const OpId overwriter = graph.buffers[b].overwriter;
      if (overwriter != kNone) {
        overwrites_[overwriter].push_back(static_cast<BufferId>(b));
      }
    }
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      missing_[i] = graph.ops[i].after.size();
    }
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      if (missing_[i] == 0) Offer(static_cast<OpId>(i));
    }
  }

  Route Run() {
    while (route_.size() < graph_.ops.size()) {
      const OpId op = Next();
      if (op == kNone) break;
      Schedule(op);
      const OpId partner = graph_.ops[op].partner;
      if (partner != kNone && !done_[partner] && missing_[partner] == 0) {
        Schedule(partner);
      }
    }
    return std::move(route_);
  }

 private:
  // Smallest preference first.
  using Entry = std::pair<int32_t, OpId>;
  using Heap =
      std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>;

  int64_t FreedBytes(OpId op) const {
    int64_t freed = 0;
    for (const BufferId b : graph_.ops[op].reads) {
      if (unread_[b] == 1 && !graph_.buffers[b].view) {
        freed += graph_.buffers[b].bytes;
      }
    }
    for (const BufferId b : graph_.ops[op].writes) {
      if (!graph_.buffers[b].view) freed -= graph_.buffers[b].bytes;
    }
    // A variable that is overwritten too early is copied, once for all views.
    for (const BufferId b : overwrites_[op]) {
      if (IsRead(b, op)) return freed - graph_.buffers[b].bytes;
    }
    return freed;
  }

  // Whether ops other than `writer` have yet to read `b`.
  bool IsRead(BufferId b, OpId writer) const {
    const std::vector<BufferId>& reads = graph_.ops[writer].reads;
    const bool own = std::binary_search(reads.begin(), reads.end(), b);
    return unread_[b] > (own ? 1 : 0);
  }

  // A fused pair becomes ready together, so that nothing comes between.
  bool PartnerReady(OpId op) const {
    const OpId partner = graph_.ops[op].partner;
    return partner == kNone || done_[partner] || missing_[partner] == 0;
  }

  void Offer(OpId op) {
    if (!PartnerReady(op)) {
      parked_.push({preference_[op], op});
      return;
    }
    Push(op);
    const OpId partner = graph_.ops[op].partner;
    if (partner != kNone && !done_[partner]) Push(partner);
  }

  void Push(OpId op) {
    ordered_.push({preference_[op], op});
    if (FreedBytes(op) > 0) freeing_.push({preference_[op], op});
  }

  OpId Next() {
    for (Heap* heap : {&freeing_, &ordered_, &parked_}) {
      while (!heap->empty()) {
        const OpId op = heap->top().second;
        heap->pop();
        if (!done_[op]) return op;
      }
    }
    return kNone;
  }

  void Schedule(OpId op) {
    done_[op] = true;
    route_.push_back(op);
    for (const BufferId b : graph_.ops[op].reads) {
      if (--unread_[b] == 1) Reconsider(b);
      const OpId overwriter = graph_.buffers[b].overwriter;
      if (overwriter != kNone && !IsRead(b, overwriter)) Prefer(overwriter);
    }
    for (const OpId next : successors_[op]) {
      if (--missing_[next] == 0) Offer(next);
    }
  }

  // The last reader of `b` would now free it.
  void Reconsider(BufferId b) {
    for (const OpId reader : graph_.buffers[b].readers) {
      if (done_[reader]) continue;
      Prefer(reader);
      return;
    }
  }

  // Of the ready ops, where it frees memory.
  void Prefer(OpId op) {
    if (!done_[op] && missing_[op] == 0 && PartnerReady(op) &&
        FreedBytes(op) > 0) {
      freeing_.push({preference_[op], op});
    }
  }

  const MemoryGraph& graph_;
  const Successors& successors_;
  const std::vector<int32_t> preference_;
  std::vector<size_t> missing_;
  std::vector<bool> done_;
  std::vector<size_t> unread_;
  std::vector<std::vector<BufferId>> overwrites_;  // By op.
  Heap freeing_, ordered_, parked_;
  Route route_;
};

}  // namespace

Route BuildRoute(const MemoryGraph& graph) {
  const PhaseTimer timer(Phase::kRoute);
  const Successors successors = graph.Successors();
  const std::vector<OpId> topological = graph.TopologicalOrder();
  if (topological.size() != graph.ops.size()) return {};
  const std::vector<int32_t> level = graph.Levels(topological);
  const DepthFirst order(graph, successors, level);
  return ListScheduler(graph, successors, order.position()).Run();
}

}  // namespace sn_tf
