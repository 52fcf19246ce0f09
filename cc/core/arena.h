// SPDX-License-Identifier: Apache-2.0
//
// Best-fit allocation with coalescing over a range of offsets. It touches no
// memory, so the runtime allocator, the tiers and the planner's simulation
// share it. Not thread-safe.
#ifndef SN_TF_CC_CORE_ARENA_H_
#define SN_TF_CC_CORE_ARENA_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace sn_tf {

struct ArenaStats {
  int64_t in_use_bytes = 0;      // Sum of allocated chunks.
  int64_t peak_bytes = 0;        // Largest in_use_bytes since ResetPeak.
  int64_t high_water_bytes = 0;  // Largest end offset since ResetPeak.
  int64_t largest_free_bytes = 0;
  int64_t allocations = 0;       // Successful Allocate calls, ever.

  // high_water_bytes / peak_bytes; 1 when nothing was allocated.
  double fragmentation() const;
};

class Arena {
 public:
  static constexpr int64_t kNoOffset = -1;

  // Offsets in [0, capacity_bytes), multiples of `alignment_bytes` (a power of
  // two); sizes are rounded up to it.
  explicit Arena(int64_t capacity_bytes, int64_t alignment_bytes = 64);

  // The offset of `bytes` free bytes, or kNoOffset where no free chunk is
  // large enough. Zero bytes take one alignment unit.
  int64_t Allocate(int64_t bytes);

  // Frees what Allocate returned at `offset`.
  void Free(int64_t offset);

  // Rounded size of the allocation at `offset`.
  int64_t SizeOf(int64_t offset) const;

  ArenaStats stats() const;
  void ResetPeak();
  int64_t capacity_bytes() const { return capacity_bytes_; }

  // Checks every invariant; for tests. Linear in the number of chunks.
  bool IsValid() const;

 private:
  int64_t capacity_bytes_;
  int64_t alignment_bytes_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_ARENA_H_
