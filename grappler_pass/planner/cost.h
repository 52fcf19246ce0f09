// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_COST_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_COST_H_

#include <algorithm>
#include <cstdint>

namespace sn_tf {

// What moving a buffer costs. Op times stand in the graph.
struct CostModel {
  // Of the link to the tier, each direction.
  double link_bytes_per_s = 6e9;
  // Share of a copy's time that the computation loses although the copy runs
  // beside it: the copying thread takes memory bandwidth, on a CPU also a core.
  double interference = 0.5;
  // Over a slow link a copy mostly waits: it takes no more from the computation
  // than at this rate, that of copying in memory.
  double copying_bytes_per_s = 12e9;
  // The same of a disk: system calls and checksums come to it.
  static constexpr double kFileCopyingBytesPerSecond = 5e9;

  // Share of its time by which a copy is assumed to delay the computation, in
  // the choice of what to move; Simulate tells how it really comes out.
  double exposed = 0;

  double CopySeconds(int64_t bytes) const {
    return static_cast<double>(bytes) / link_bytes_per_s;
  }

  // Time added to a step by one copy that is hidden behind computation.
  double HiddenCopyCost(int64_t bytes) const {
    return std::min(interference * CopySeconds(bytes),
                    static_cast<double>(bytes) / copying_bytes_per_s) +
           exposed * CopySeconds(bytes);
  }
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_COST_H_
