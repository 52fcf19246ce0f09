// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_CC_NAIVE_ARENA_H_
#define SN_TF_TESTS_CC_NAIVE_ARENA_H_

#include <cstdint>
#include <map>
#include <vector>

#include "cc/core/arena.h"

namespace sn_tf {

// What an Arena promises, in the fewest words: maps of ranges, searched
// linearly.
class NaiveArena {
 public:
  struct Range {
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  NaiveArena(int64_t capacity_bytes, int64_t unit_bytes);

  // As the calls of Arena by the same names.
  int64_t Allocate(int64_t bytes);
  int64_t Allocate(int64_t bytes, int64_t alignment_bytes);
  int64_t Free(int64_t offset);
  int64_t SizeOf(int64_t offset) const;
  std::vector<Range> FreeRanges(int64_t min_bytes) const;
  void Hold(int64_t offset);
  void Release(int64_t offset);
  void ResetPeak();
  ArenaStats stats() const;
  int64_t capacity_bytes() const { return capacity_; }

 private:
  using Ranges = std::map<int64_t, int64_t>;  // Bytes by offset.

  int64_t RoundUp(int64_t bytes) const;
  // The smallest free range of at least `bytes`, the lowest of that size.
  Ranges::const_iterator BestFit(int64_t bytes) const;
  int64_t Place(Ranges::const_iterator range, int64_t bytes, int64_t padding);
  void MakeFree(int64_t offset, int64_t bytes);

  int64_t capacity_;
  int64_t unit_;
  Ranges free_;
  Ranges in_use_;
  Ranges held_;
  int64_t peak_ = 0;
  int64_t high_water_ = 0;
  int64_t allocations_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_NAIVE_ARENA_H_
