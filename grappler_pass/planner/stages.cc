// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/stages.h"

#include "grappler_pass/planner/liveness.h"

namespace sn_tf {
namespace {

bool ArePartners(const MemoryGraph& graph, const PlanItem& a,
                 const PlanItem& b) {
  return a.kind == ItemKind::kRun && b.kind == ItemKind::kRun &&
         graph.ops[a.id].partner == b.id;
}

}  // namespace

std::vector<Position> DivideIntoStages(const MemoryGraph& graph,
                                       const Schedule& schedule,
                                       int64_t limit_bytes) {
  const Liveness liveness = AnalyzeLiveness(graph, schedule);
  std::vector<Position> stages;
  int64_t most = 0;  // In use at the end of this stage if it frees nothing.
  size_t p = 0;
  while (p < schedule.size()) {
    // An item, or two partners.
    const size_t begin = p;
    int64_t taken = liveness.taken_bytes[p++];
    if (p < schedule.size() &&
        ArePartners(graph, schedule[begin], schedule[p])) {
      taken += liveness.taken_bytes[p++];
    }
    // What a wait frees is free for the next stage only: it begins none.
    const bool waits = schedule[begin].kind == ItemKind::kSwapWait;
    if (stages.empty() || (!waits && most + taken > limit_bytes)) {
      stages.push_back(static_cast<Position>(begin));
      most = liveness.live_bytes[begin] - liveness.taken_bytes[begin];
    }
    most += taken;
  }
  return stages;
}

}  // namespace sn_tf
