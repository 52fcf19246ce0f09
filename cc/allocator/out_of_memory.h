// SPDX-License-Identifier: Apache-2.0
//
// The message of a step that ran out of memory.
#ifndef SN_TF_CC_ALLOCATOR_OUT_OF_MEMORY_H_
#define SN_TF_CC_ALLOCATOR_OUT_OF_MEMORY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "cc/allocator/refusal.h"

namespace sn_tf {

// What is known of a planned step.
struct PlannedStep {
  // The smallest budget for which there is a plan, as far as is known.
  int64_t min_budget_bytes = 0;
  bool measured = false;  // Otherwise ops may need more than is known.
  std::string tiers;      // As the option has it.
  // What became of the weights, and what the next step does: sentences.
  std::string outcome;
};

struct OutOfMemory {
  std::string memory;  // The allocator's name.
  Refusal refusal;
  std::optional<PlannedStep> planned;
};

// For people, in about twenty lines: what was asked for, budget and use, the
// largest live buffers by op, what could not be moved and why, the smallest
// budget that would fit, and three things to try. Begins with "OOM when
// allocating"; without a newline at the end.
std::string MessageOf(const OutOfMemory& out);

// A budget below which the step cannot go on: without a plan, what is in use
// and what was asked for.
int64_t SmallestBudget(const OutOfMemory& out);

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_OUT_OF_MEMORY_H_
