// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/placement_check.h"

#include <utility>
#include <vector>

#include "grappler_pass/planner/liveness.h"

namespace sn_tf {
namespace {

// What the schedule holds for the whole step beyond what is in use already.
bool PlaceResident(const MemoryGraph& graph, Arena* arena) {
  const int64_t bytes = graph.resident_bytes - arena->in_use_bytes();
  return bytes <= 0 || arena->Allocate(bytes) != Arena::kNoOffset;
}

bool HasPlaceForWorkspace(const MemoryGraph& graph, const PlanItem& item,
                          Arena* arena) {
  if (!IsOp(item.kind)) return true;
  const int64_t bytes = graph.ops[item.id].workspace_bytes;
  if (bytes == 0) return true;
  const int64_t offset = arena->Allocate(bytes);
  if (offset == Arena::kNoOffset) return false;
  arena->Free(offset);
  return true;
}

}  // namespace

bool FindsPlaces(const MemoryGraph& graph, const Schedule& schedule,
                 Arena arena) {
  const Liveness liveness = AnalyzeLiveness(graph, schedule);
  std::vector<std::vector<int32_t>> ending(schedule.size());
  std::vector<int64_t> offsets(liveness.versions.size(), Arena::kNoOffset);
  size_t next = 0;
  if (!PlaceResident(graph, &arena)) return false;
  for (size_t p = 0; p < schedule.size(); ++p) {
    const auto at = static_cast<Position>(p);
    const bool shares = WritesInPlace(graph, schedule, liveness, at);
    for (; next < offsets.size() && liveness.versions[next].begin == at;
         ++next) {
      const Version& version = liveness.versions[next];
      const Buffer& buffer = graph.buffers[version.buffer];
      if (buffer.view) continue;
      // Only items that share are certain to be of ops.
      const InPlace* const in_place =
          shares ? &graph.ops[schedule[p].id].in_place : nullptr;
      if (shares && version.buffer == in_place->output) {
        int64_t& taken =
            offsets[liveness.LastBefore(in_place->inputs.front(), at)];
        offsets[next] = std::exchange(taken, Arena::kNoOffset);
      } else {
        offsets[next] = arena.Allocate(buffer.bytes);
      }
      if (offsets[next] == Arena::kNoOffset) return false;
      ending[version.end].push_back(static_cast<int32_t>(next));
    }
    if (!HasPlaceForWorkspace(graph, schedule[p], &arena)) return false;
    for (const int32_t version : ending[p]) {
      if (offsets[version] != Arena::kNoOffset) arena.Free(offsets[version]);
    }
  }
  return true;
}

}  // namespace sn_tf
