// SPDX-License-Identifier: Apache-2.0
//
// What the arena allocator does where there is no room: it asks for some, waits
// for some, and refuses (arena_refusals.cc).
#include <chrono>
#include <memory>

#include "cc/allocator/allocation_trace.h"
#include "cc/allocator/arena_allocator.h"

namespace sn_tf {
namespace {

// The pressure callback promises progress when it returns true; this bounds
// the damage of one that does not keep the promise.
constexpr int kMaxPressureAttempts = 256;
// How long a refusal waits for what others are about to let go: an op's inputs
// may be held a moment longer than it takes its successor to begin.
constexpr std::chrono::milliseconds kGrace{200};

}  // namespace

void* ArenaAllocator::AllocateInShortage(int64_t bytes, int64_t alignment,
                                         Outcome outcome) {
  void* block = nullptr;
  outcome = AllocateUnderPressure(bytes, alignment, outcome, &block);
  if (outcome != Outcome::kDone) {
    outcome = AllocateInGrace(bytes, alignment, outcome, &block);
  }
  return outcome == Outcome::kDone ? block : Refuse(outcome, bytes);
}

ArenaAllocator::Outcome ArenaAllocator::AllocateUnderPressure(int64_t bytes,
                                                              int64_t alignment,
                                                              Outcome outcome,
                                                              void** block) {
  for (int attempt = 0; attempt < kMaxPressureAttempts; ++attempt) {
    std::shared_ptr<const PressureCallback> pressure;
    int64_t needed;
    {
      ArenaMutexLock lock(&mutex_);
      pressure = pressure_;
      needed = arena_.RoundUp(bytes);
      if (outcome == Outcome::kOverBudget) {
        needed += arena_.in_use_bytes() - budget_bytes_;
      }
    }
    if (pressure == nullptr) break;
    // Another thread may have made room meanwhile.
    if (needed > 0 && !(*pressure)(needed)) break;
    outcome = TryAllocate(bytes, alignment, block);
    if (outcome == Outcome::kDone) break;
  }
  return outcome;
}

ArenaAllocator::Outcome ArenaAllocator::AllocateInGrace(int64_t bytes,
                                                        int64_t alignment,
                                                        Outcome outcome,
                                                        void** block) {
  // Outside of steps nothing runs beside; and steps that run on in vain are
  // refused again and again.
  const int64_t step_id = DescribeAllocation().step_id;
  if (step_id == 0 || sink_.FirstOf(step_id).has_value()) return outcome;
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  while (outcome != Outcome::kDone) {
    int64_t frees;
    {
      ArenaMutexLock lock(&mutex_);
      frees = frees_;
    }
    outcome = TryAllocate(bytes, alignment, block);
    if (outcome == Outcome::kDone) break;
    ArenaMutexLock lock(&mutex_);
    ++waiting_;
    const bool freed = changed_.wait_until(
        mutex_, deadline, [this, frees] { return frees_ != frees; });
    --waiting_;
    if (!freed) break;
  }
  return outcome;
}

}  // namespace sn_tf
