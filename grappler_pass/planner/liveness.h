// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_LIVENESS_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_LIVENESS_H_

#include <cstdint>
#include <vector>

#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Index into a schedule.
using Position = int32_t;

// One version of a buffer (see plan.h).
struct Version {
  BufferId buffer = kNone;
  Position begin = 0;
  // Positions that read it, ascending. A swap_out reads it too.
  std::vector<Position> reads;
  // Its memory is held through this position.
  Position end = 0;
};

// Live ranges and memory of a schedule (the paper's liveness analysis, 3.1).
struct Liveness {
  std::vector<Version> versions;  // In the order of `begin`.
  // Per buffer, its versions in order, as indices into `versions`.
  std::vector<std::vector<int32_t>> of_buffer;
  // Per position: bytes in use while that item runs, resident included.
  std::vector<int64_t> live_bytes;
  // In use also where nothing runs.
  int64_t resident_bytes = 0;

  int64_t peak_bytes() const;
  Position peak_position() const;  // The first of equals.
};

Liveness AnalyzeLiveness(const MemoryGraph& graph, const Schedule& schedule);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_LIVENESS_H_
