// SPDX-License-Identifier: Apache-2.0
//
// What cc/core/arena does without extents, to hold it against.
#ifndef SN_TF_TESTS_CC_NAIVE_ARENA_H_
#define SN_TF_TESTS_CC_NAIVE_ARENA_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "cc/core/arena.h"

namespace sn_tf {

// The arena's rule in the fewest words: a map of free ranges, searched
// linearly.
class NaiveArena {
 public:
  NaiveArena(int64_t capacity, int64_t unit) : unit_(unit) {
    free_[0] = capacity;
  }

  int64_t Allocate(int64_t bytes) {
    bytes = std::max(unit_, (bytes + unit_ - 1) / unit_ * unit_);
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      if (best == free_.end() || it->second < best->second) best = it;
    }
    if (best == free_.end()) return Arena::kNoOffset;
    const auto [offset, size] = *best;
    free_.erase(best);
    if (size > bytes) free_[offset + bytes] = size - bytes;
    in_use_[offset] = bytes;
    return offset;
  }

  void Free(int64_t offset) {
    int64_t bytes = in_use_.at(offset);
    in_use_.erase(offset);
    auto next = free_.find(offset + bytes);
    if (next != free_.end()) {
      bytes += next->second;
      free_.erase(next);
    }
    auto after = free_.lower_bound(offset);
    if (after != free_.begin()) {
      auto before = std::prev(after);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    free_[offset] = bytes;
  }

  int64_t largest_free() const {
    int64_t largest = 0;
    for (const auto& [offset, bytes] : free_) {
      largest = std::max(largest, bytes);
    }
    return largest;
  }

  int64_t in_use() const {
    int64_t sum = 0;
    for (const auto& [offset, bytes] : in_use_) sum += bytes;
    return sum;
  }

 private:
  int64_t unit_;
  std::map<int64_t, int64_t> free_;
  std::map<int64_t, int64_t> in_use_;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_NAIVE_ARENA_H_
