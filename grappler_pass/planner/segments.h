// SPDX-License-Identifier: Apache-2.0
//
// The recomputation of SuperNeurons (arXiv 1801.04380, section 3.4), as the
// paper has it, for comparison.
//
//   turn        where the route is at its peak: most of what is computed before
//               waits there for what is computed behind.
//   checkpoint  a buffer that takes long to compute, of a convolution or a
//               product of matrices, or in which several others come together:
//               a sum, a concatenation. It stays, or is swapped.
//   segment     other buffers that wait across the turn, computed from one
//               another. They are dropped, and computed anew behind it.
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_SEGMENTS_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_SEGMENTS_H_

#include <cstdint>

#include "grappler_pass/planner/plan.h"

namespace sn_tf {

enum class SegmentRecompute {
  kSpeedCentric,   // Once, where the first of it is needed; it then stays.
  kMemoryCentric,  // For each op what that needs, again and again.
  // The first where a segment takes no more than the largest layer, for which
  // there has to be room anyway; otherwise the second.
  kCostAware,
};

struct SegmentOptions {
  SegmentRecompute recompute = SegmentRecompute::kCostAware;
  bool swap_checkpoints = false;
  int64_t min_buffer_bytes = 0;  // Smaller buffers stay.
};

// `route`, a schedule of runs only, with its segments recomputed.
Schedule RecomputeSegments(const MemoryGraph& graph,
                           const SegmentOptions& options,
                           const Schedule& route);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_SEGMENTS_H_
