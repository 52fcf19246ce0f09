// SPDX-License-Identifier: Apache-2.0
//
// Joins the CPU arena and the pool: an allocation that would pass the budget
// makes the tensor cache move out what it needs, and the message of one that
// fails tells what could not move.
#include <cstdint>

#include "cc/allocator/arena_allocator.h"
#include "cc/pool/pool.h"

namespace sn_tf {
namespace {

[[maybe_unused]] const bool registered = [] {
  CpuArena()->SetPressureCallback(
      [](int64_t bytes_needed) { return MakeRoomOnCpu(bytes_needed); });
  CpuArena()->SetEvictableCallback(
      [] { return CpuTraffic().cache.evictable_bytes(); });
  CpuArena()->SetImmovableCallback(
      [] { return CpuTraffic().cache.immovable(); });
  return true;
}();

}  // namespace
}  // namespace sn_tf
