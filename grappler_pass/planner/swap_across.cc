// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/swap_across.h"

#include <algorithm>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/schedule_edit.h"

namespace sn_tf {
namespace {

// The first read of the version after `at`; kNone where there is none.
Position NextRead(const Schedule& schedule, const Version& version,
                  Position at) {
  for (const Position read : version.reads) {
    if (read > at && schedule[read].kind != ItemKind::kSwapOut) return read;
  }
  return kNone;
}

// `at`, where an op runs, or after it where its partner follows at once:
// nothing can be swapped between the two.
Position EndOfPair(const MemoryGraph& graph, const Schedule& schedule,
                   Position at) {
  const auto next = static_cast<size_t>(at) + 1;
  if (next >= schedule.size()) return at;
  const OpId partner = graph.ops[schedule[at].id].partner;
  return schedule[next] == PlanItem{ItemKind::kRun, partner} ? at + 1 : at;
}

}  // namespace

Schedule SwapAcross(const MemoryGraph& graph, const EvictOptions& options,
                    const Schedule& schedule, OpId op) {
  const auto at =
      static_cast<Position>(std::find(schedule.begin(), schedule.end(),
                                      PlanItem{ItemKind::kRun, op}) -
                            schedule.begin());
  const Position end = EndOfPair(graph, schedule, at);
  const Liveness liveness = AnalyzeLiveness(graph, schedule);
  const std::vector<bool> stored = StoredBuffers(graph, schedule);
  ScheduleInserter inserter;
  for (const Version& version : liveness.versions) {
    const BufferId b = version.buffer;
    if (version.begin >= at ||
        !graph.buffers[b].MayMove(options.min_buffer_bytes)) {
      continue;
    }
    const Position next = NextRead(schedule, version, end);
    if (next == kNone) continue;
    if (!stored[b]) {
      inserter.SwapOutAfter(
          liveness.versions[liveness.of_buffer[b].front()].begin, b);
    }
    inserter.SwapInBefore(next, b);
  }
  return DropUnused(graph, inserter.Apply(schedule));
}

}  // namespace sn_tf
