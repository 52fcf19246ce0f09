// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/expected_peak.h"

#include <algorithm>
#include <vector>

#include "grappler_pass/planner/liveness.h"

namespace sn_tf {
namespace {

// The schedule with each swap_wait where its copy has ended.
Schedule WaitingNoLonger(const MemoryGraph& graph, const Schedule& schedule,
                         const Timeline& timeline) {
  std::vector<double> out_end(graph.buffers.size(), 0);
  std::vector<std::vector<PlanItem>> before(schedule.size());
  for (size_t p = 0; p < schedule.size(); ++p) {
    const PlanItem& item = schedule[p];
    if (item.kind == ItemKind::kSwapOut) out_end[item.id] = timeline.end[p];
    if (item.kind != ItemKind::kSwapWait) continue;
    const auto ended = std::lower_bound(
        timeline.start.begin(), timeline.start.begin() + static_cast<int>(p),
        out_end[item.id]);
    before[ended - timeline.start.begin()].push_back(item);
  }
  Schedule moved;
  moved.reserve(schedule.size());
  for (size_t p = 0; p < schedule.size(); ++p) {
    moved.insert(moved.end(), before[p].begin(), before[p].end());
    if (schedule[p].kind != ItemKind::kSwapWait) moved.push_back(schedule[p]);
  }
  return moved;
}

}  // namespace

int64_t ExpectedPeak(const MemoryGraph& graph, const Schedule& schedule,
                     const Timeline& timeline) {
  return AnalyzeLiveness(graph, WaitingNoLonger(graph, schedule, timeline))
      .peak_bytes();
}

}  // namespace sn_tf
