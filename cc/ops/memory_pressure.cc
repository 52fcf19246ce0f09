// SPDX-License-Identifier: Apache-2.0
//
// Joins the CPU arena and the pool: an allocation that would pass the budget
// waits for the copies under way that will free memory.
#include <cstdint>

#include "cc/allocator/arena_allocator.h"
#include "cc/pool/pool.h"

namespace sn_tf {
namespace {

[[maybe_unused]] const bool registered = [] {
  CpuArena()->SetPressureCallback(
      [](int64_t /*bytes_needed*/) { return WaitForSwapOut(); });
  return true;
}();

}  // namespace
}  // namespace sn_tf
