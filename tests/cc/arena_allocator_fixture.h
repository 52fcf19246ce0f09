// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_CC_ARENA_ALLOCATOR_FIXTURE_H_
#define SN_TF_TESTS_CC_ARENA_ALLOCATOR_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "cc/allocator/arena_allocator.h"

namespace sn_tf {

inline constexpr int64_t kMiB = int64_t{1} << 20;
inline constexpr int64_t kRangeBytes = 256 * kMiB;

class ArenaAllocatorTest : public testing::Test {
 protected:
  void* Allocate(int64_t bytes) {
    return allocator_.AllocateRaw(64, static_cast<size_t>(bytes));
  }
  int64_t in_use() const { return allocator_.stats().arena.in_use_bytes; }

  ArenaAllocator allocator_{"test", kRangeBytes};
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_ARENA_ALLOCATOR_FIXTURE_H_
