// SPDX-License-Identifier: Apache-2.0
//
// How the arena allocator refuses what found no room: who is told, and the
// sink.
#include <memory>
#include <optional>
#include <utility>

#include "cc/allocator/arena_allocator.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {
namespace {

// False also where TensorFlow did not say what the elements are.
bool HasPlainBytes(const AllocationEvent& event) {
  const auto dtype = static_cast<tensorflow::DataType>(event.dtype);
  return dtype != tensorflow::DT_INVALID &&
         tensorflow::DataTypeCanUseMemcpy(dtype);
}

}  // namespace

void* ArenaAllocator::Refuse(Outcome outcome, int64_t bytes) {
  AllocationEvent event = DescribeAllocation();
  Refusal refusal = DescribeRefusal(outcome, bytes, event);
  TellOf(&refusal);
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

Refusal ArenaAllocator::DescribeRefusal(Outcome outcome, int64_t bytes,
                                        const AllocationEvent& event) const {
  Refusal refusal;
  refusal.op = event.op;
  refusal.bytes = bytes;
  refusal.dtype = event.dtype;
  refusal.shape = event.shape;
  refusal.step_id = event.step_id;
  ArenaMutexLock lock(&mutex_);
  refusal.in_use_bytes = arena_.in_use_bytes();
  refusal.needed_bytes = refusal.in_use_bytes + arena_.RoundUp(bytes);
  refusal.largest_free_bytes = arena_.stats().largest_free_bytes;
  if (outcome == Outcome::kOverBudget) {
    refusal.budget_bytes = budget_bytes_;
    return refusal;
  }
  refusal.limit =
      is_all_memory() ? Refusal::Limit::kMemory : Refusal::Limit::kAddresses;
  refusal.budget_bytes = range_.bytes();
  refusal.in_pieces = refusal.needed_bytes <= refusal.budget_bytes;
  return refusal;
}

void ArenaAllocator::TellOf(Refusal* refusal) {
  const int64_t step_id = refusal->step_id;
  const bool planned = sink_.IsOpenFor(step_id);
  const bool first = planned && !sink_.FirstOf(step_id).has_value();
  const bool begins = log_.Begins(step_id);
  if (!begins && !first) return;
  std::shared_ptr<const ImmovableCallback> immovable;
  {
    ArenaMutexLock lock(&mutex_);
    immovable = immovable_;
  }
  if (immovable != nullptr) refusal->immovable = (*immovable)();
  refusal->live = live_.Largest(Refusal::kLargestBuffers, step_id);
  if (!begins) return;
  const OutOfMemory out{name_, *refusal, std::nullopt};
  if (planned) {
    log_.WriteLine(out);
  } else {
    log_.Write(out);
  }
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
