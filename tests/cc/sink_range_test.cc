// SPDX-License-Identifier: Apache-2.0
#include "cc/core/sink_range.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstring>

#include "cc/core/address_range.h"

namespace sn_tf {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(SinkRangeTest, TakesWritesAtEveryAddress) {
  const SinkRange sink(7 * kMiB + 1);
  ASSERT_NE(sink.base(), nullptr);
  ASSERT_GE(sink.bytes(), 7 * kMiB + 1);
  std::memset(sink.base(), 1, static_cast<size_t>(sink.bytes()));
  EXPECT_EQ(sink.base()[sink.bytes() - 1], 1);
}

TEST(SinkRangeTest, IsAlignedLikeTheArena) {
  const SinkRange sink(1);
  ASSERT_NE(sink.base(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(sink.base()) %
                AddressRange::kBaseAlignmentBytes,
            0u);
}

TEST(SinkRangeTest, AllPagesAreTheSameFew) {
  const SinkRange sink(1024 * kMiB);
  ASSERT_NE(sink.base(), nullptr);
  sink.base()[0] = 42;
  int same = 0;
  for (int64_t offset = 0; offset < sink.bytes(); offset += 2 * kMiB) {
    same += sink.base()[offset] == 42 ? 1 : 0;
  }
  EXPECT_EQ(same, sink.bytes() / (2 * kMiB));
}

TEST(SinkRangeTest, MoreThanThereCanBeIsRefused) {
  const SinkRange sink(int64_t{1} << 62);
  EXPECT_EQ(sink.base(), nullptr);
}

}  // namespace
}  // namespace sn_tf
