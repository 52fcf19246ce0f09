// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow's CPU allocator over cc/core/arena (contract sketch).
#ifndef SN_TF_CC_ALLOCATOR_ARENA_ALLOCATOR_H_
#define SN_TF_CC_ALLOCATOR_ARENA_ALLOCATOR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "xla/tsl/framework/allocator.h"

namespace sn_tf {

struct AllocationEvent {
  enum class Region { kOutput, kTemp, kPersistent, kOther };
  int64_t time_ns = 0;   // Monotonic clock.
  int64_t step_id = 0;
  uint64_t id = 0;       // Pairs an allocation with its release.
  int64_t bytes = 0;     // As requested, rounded up to the alignment.
  bool is_free = false;
  Region region = Region::kOther;
  std::string op;        // Empty where no op was running.
  int32_t dtype = 0;     // tensorflow::DataType.
  std::string shape;     // "[32,56,56,64]"; empty where unknown.
};

class ArenaAllocator : public tsl::Allocator {
 public:
  // Asked, without any lock held, to make room for `bytes_needed` more bytes.
  // Returns true if it is worth trying again.
  using PressureCallback = std::function<bool(int64_t bytes_needed)>;

  // Empty string, or why the budget was refused (more is in use).
  std::string SetBudget(int64_t bytes);
  void SetPressureCallback(PressureCallback callback);

  void StartTrace();
  std::vector<AllocationEvent> StopTrace();
};

// The process's CPU arena, made on first use, never destroyed.
ArenaAllocator* CpuArena();

// Registers CpuArena with TensorFlow; see SnTfInstallAllocator.
void InstallCpuArena();

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_ARENA_ALLOCATOR_H_
