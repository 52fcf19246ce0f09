// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/prospect.h"

#include <algorithm>

#include "grappler_pass/planner/run_positions.h"

namespace sn_tf {

Prospect::Prospect(const MemoryGraph& graph, const Schedule& route)
    : graph_(graph), route_(route), step_seconds_(graph.StepSeconds()) {
  std::vector<BufferId> read;
  std::vector<Position> at;
  for (size_t p = 0; p < route.size(); ++p) {
    for (const BufferId b : graph.ops[route[p].id].reads) {
      read.push_back(b);
      at.push_back(static_cast<Position>(p));
    }
  }
  uses_ = GroupByKey(read, at, graph.buffers.size(), &all_uses_);
  FindLimits();
}

void Prospect::FindLimits() {
  const RunPositions runs(graph_, route_);
  limit_.assign(graph_.ops.size(), End());
  for (const PlanItem& item : route_) {
    Position& limit = limit_[item.id];
    if (!graph_.ops[item.id].pure) limit = kNone;
    for (const BufferId b : graph_.ops[item.id].reads) {
      const Buffer& read = graph_.buffers[b];
      if (!read.view) {
        limit =
            std::min(limit, std::max(limit_[read.producer], uses_[b].back()));
      } else if (read.overwriter != kNone) {
        limit = std::min(limit, runs.Of(read.overwriter));
      }
    }
  }
}

}  // namespace sn_tf
