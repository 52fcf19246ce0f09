// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_ALLOCATOR_REFUSAL_H_
#define SN_TF_CC_ALLOCATOR_REFUSAL_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "cc/allocator/live_blocks.h"
#include "cc/core/immovable_memory.h"

namespace sn_tf {

// An allocation for which there was no room, and the memory as it was.
struct Refusal {
  enum class Limit {
    kBudget,
    kMemory,     // All that the device has.
    kAddresses,  // The range that was reserved for the arena.
  };
  static constexpr size_t kLargestBuffers = 10;

  std::string op;  // Empty where no op was running.
  int64_t bytes = 0;
  int32_t dtype = 0;  // tensorflow::DataType.
  std::string shape;  // "[32,56,56,64]"; empty where unknown.
  int64_t step_id = 0;
  Limit limit = Limit::kBudget;
  int64_t in_use_bytes = 0;
  int64_t budget_bytes = 0;  // Or as much as the limit is.
  int64_t needed_bytes = 0;  // Of budget, for this allocation to be made.
  int64_t largest_free_bytes = 0;
  bool in_pieces = false;  // As much was free, but in no one block.
  // Of a step's first refusal only.
  LiveMemory live;
  ImmovableMemory immovable;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_REFUSAL_H_
