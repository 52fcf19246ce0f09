// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_LIVENESS_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_LIVENESS_H_

#include <cstdint>
#include <vector>

#include "grappler_pass/planner/plan.h"
#include "grappler_pass/planner/slice.h"

namespace sn_tf {

// Index into a schedule.
using Position = int32_t;

// One version of a buffer (see plan.h).
struct Version {
  BufferId buffer = kNone;
  Position begin = 0;
  // Its memory is held through this position.
  Position end = 0;
  // Positions that read it, ascending. A swap_out reads it too.
  Slice reads;
};

// Live ranges and memory of a schedule (the paper's liveness analysis, 3.1).
// Plans of large graphs ask for it many times, so it stands in few arrays.
struct Liveness {
  Liveness() = default;
  // The slices point to what a copy would not own.
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;
  Liveness(Liveness&&) = default;
  Liveness& operator=(Liveness&&) = default;

  std::vector<Version> versions;  // In the order of `begin`.
  // Per buffer, its versions in order, as indices into `versions`.
  std::vector<Slice> of_buffer;
  // Per position: bytes in use while that item runs, resident included.
  std::vector<int64_t> live_bytes;
  // In use also where nothing runs.
  int64_t resident_bytes = 0;
  // What the slices are of.
  std::vector<Position> all_reads;
  std::vector<int32_t> all_versions;

  int64_t peak_bytes() const;
  Position peak_position() const;  // The first of equals.

  // The last version of the buffer that begins before `at`; kNone: none does.
  int32_t LastBefore(BufferId buffer, Position at) const;
};

// Whether the op at `at` is the last to refer to the memory of a version; not
// where a copy that is to come back refers to it too.
bool EndsAt(const Schedule& schedule, const Liveness& liveness, int32_t version,
            Position at);

// Whether the op at `at` writes in place there.
bool WritesInPlace(const MemoryGraph& graph, const Schedule& schedule,
                   const Liveness& liveness, Position at);

Liveness AnalyzeLiveness(const MemoryGraph& graph, const Schedule& schedule);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_LIVENESS_H_
