// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_STEP_PROFILE_H_
#define SN_TF_GRAPPLER_PASS_STEP_PROFILE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cc/allocator/arena_allocator.h"

namespace sn_tf {

// What one step's allocation trace says of its ops.
struct StepProfile {
  // Per op name: most temporary bytes held at once, and the bytes of each
  // output it allocated, in order.
  std::map<std::string, int64_t> workspace_bytes;
  std::map<std::string, std::vector<int64_t>> output_bytes;
  // The most that ops inside of loops had allocated together and nobody had
  // freed.
  int64_t interior_bytes = 0;
  // In use when the step began, and the most in use during it.
  int64_t begin_bytes = 0;
  int64_t peak_bytes = 0;
  // By how much variables hold more since: two that shared their first value
  // until one was written.
  int64_t kept_bytes = 0;
  // False where an allocation was refused: the rest may not be known.
  bool complete = true;
  bool scaled = false;  // By Grown.
};

// The profile of a step whose inputs are `growth` times as large, and before
// which `begin_bytes` are in use, its inputs among them: what was measured
// grows with them, but for what was in use before.
StepProfile Grown(StepProfile profile, double growth, int64_t begin_bytes);

// Digests the events of step `step_id`; those of other steps and of no step
// count towards the peak only. `begin_bytes`: in use when the trace began;
// `interior`: the names of the ops inside of loops.
StepProfile DigestTrace(const std::vector<AllocationEvent>& events,
                        int64_t step_id, int64_t begin_bytes,
                        const std::set<std::string>& interior = {});

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_STEP_PROFILE_H_
