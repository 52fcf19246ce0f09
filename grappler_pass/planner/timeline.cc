// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/timeline.h"

#include <algorithm>

namespace sn_tf {
namespace {

class Simulation {
 public:
  Simulation(const MemoryGraph& graph, const CostModel& costs)
      : graph_(graph),
        costs_(costs),
        out_end_(graph.buffers.size(), 0),
        in_end_(graph.buffers.size(), 0) {}

  Timeline Run(const Schedule& schedule) {
    result_.start.reserve(schedule.size());
    result_.end.reserve(schedule.size());
    for (const PlanItem& item : schedule) Step(item);
    result_.seconds = now_;
    return std::move(result_);
  }

 private:
  void Step(const PlanItem& item) {
    switch (item.kind) {
      case ItemKind::kRun:
      case ItemKind::kRecompute:
        for (const BufferId b : graph_.ops[item.id].reads) {
          StallUntil(in_end_[b]);
        }
        break;
      case ItemKind::kSwapWait:
        StallUntil(out_end_[item.id]);
        break;
      case ItemKind::kSwapOut:
        Copy(item.id, &out_free_, &out_end_);
        break;
      case ItemKind::kSwapIn:
        // It cannot come back before it has left.
        in_free_ = std::max(in_free_, out_end_[item.id]);
        Copy(item.id, &in_free_, &in_end_);
        result_.added.apart += graph_.buffers[item.id].apart_seconds;
        break;
    }
    result_.start.push_back(now_);
    if (IsOp(item.kind)) {
      const double seconds = graph_.ops[item.id].seconds;
      now_ += seconds;
      if (item.kind == ItemKind::kRecompute) result_.added.recompute += seconds;
    }
    result_.end.push_back(EndOf(item));
  }

  double EndOf(const PlanItem& item) const {
    if (item.kind == ItemKind::kSwapOut) return out_end_[item.id];
    if (item.kind == ItemKind::kSwapIn) return in_end_[item.id];
    return now_;
  }

  void StallUntil(double time) {
    if (time <= now_) return;
    result_.added.stalls += time - now_;
    now_ = time;
  }

  void Copy(BufferId b, double* link_free, std::vector<double>* end) {
    const int64_t bytes = graph_.buffers[b].bytes;
    *link_free = std::max(now_, *link_free) + costs_.CopySeconds(bytes);
    (*end)[b] = *link_free;
    result_.added.interference += costs_.HiddenCopyCost(bytes);
  }

  const MemoryGraph& graph_;
  const CostModel& costs_;
  Timeline result_;
  double now_ = 0;
  double out_free_ = 0;
  double in_free_ = 0;
  std::vector<double> out_end_;
  std::vector<double> in_end_;
};

}  // namespace

Timeline Simulate(const MemoryGraph& graph, const CostModel& costs,
                  const Schedule& schedule) {
  return Simulation(graph, costs).Run(schedule);
}

}  // namespace sn_tf
