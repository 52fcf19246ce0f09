// SPDX-License-Identifier: Apache-2.0
//
// What the arena allocator does where there is no room: it asks for some, waits
// for some, and refuses.
#include <chrono>
#include <memory>
#include <utility>

#include "cc/allocator/allocation_trace.h"
#include "cc/allocator/arena_allocator.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {
namespace {

// The pressure callback promises progress when it returns true; this bounds
// the damage of one that does not keep the promise.
constexpr int kMaxPressureAttempts = 256;
// How long a refusal waits for what others are about to let go: an op's inputs
// may be held a moment longer than it takes its successor to begin.
constexpr std::chrono::milliseconds kGrace{200};

// False also where TensorFlow did not say what the elements are.
bool HasPlainBytes(const AllocationEvent& event) {
  const auto dtype = static_cast<tensorflow::DataType>(event.dtype);
  return dtype != tensorflow::DT_INVALID &&
         tensorflow::DataTypeCanUseMemcpy(dtype);
}

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

void* ArenaAllocator::Refuse(Outcome outcome, int64_t bytes) {
  AllocationEvent event = DescribeAllocation();
  Refusal refusal{event.op, bytes};
  {
    ArenaMutexLock lock(&mutex_);
    refusal.in_use_bytes = arena_.in_use_bytes();
    const bool over_budget = outcome == Outcome::kOverBudget;
    refusal.budget_bytes = over_budget ? budget_bytes_ : range_.bytes();
    refusal.in_pieces =
        !over_budget && refusal.in_use_bytes + bytes <= refusal.budget_bytes;
  }
  log_.Write(name_, event.step_id, refusal, Describe(outcome));
  if (outcome == Outcome::kNoAddresses && !is_all_memory()) return nullptr;
  char* const sink = static_cast<char*>(
      sink_.Take(event.step_id, refusal, HasPlainBytes(event)));
  ArenaMutexLock lock(&mutex_);
  if (!trace_.active()) return sink;
  const int64_t rounded = arena_.RoundUp(bytes);
  if (sink == nullptr) {
    trace_.RecordRefusal(rounded, std::move(event));
  } else {
    trace_.RecordAllocation(sink - range_.base(), rounded, std::move(event));
  }
  return sink;
}

const char* ArenaAllocator::Describe(Outcome outcome) const {
  if (outcome == Outcome::kOverBudget) {
    return "would pass the budget. Raise it, or use a smaller batch.";
  }
  return is_all_memory()
             ? "finds no such block in the memory. Use a smaller batch."
             : "finds no such block in the reserved addresses. Raise the limit "
               "on this process's address space (ulimit -v), or use a smaller "
               "batch.";
}

bool ArenaAllocator::ReleaseSink(void* ptr) {
  const int64_t bytes = sink_.Release(ptr);
  if (bytes == 0) return false;
  ArenaMutexLock lock(&mutex_);
  if (trace_.active()) {
    trace_.RecordFree(static_cast<char*>(ptr) - range_.base(),
                      arena_.RoundUp(bytes));
  }
  return true;
}

}  // namespace sn_tf
