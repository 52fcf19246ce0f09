// SPDX-License-Identifier: Apache-2.0
#include "cc/core/sink_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace sn_tf {
namespace {

constexpr int64_t kBytes = SinkMemory::kBytes;

TEST(SinkMemoryTest, TakesWritesAtEveryAddress) {
  const SinkMemory memory;
  const AlignedMapping range = memory.Map(2 * kBytes + 1);
  ASSERT_NE(range.base(), nullptr);
  ASSERT_EQ(range.bytes(), 2 * kBytes + 1);
  std::memset(range.base(), 1, static_cast<size_t>(range.bytes()));
  EXPECT_EQ(range.base()[2 * kBytes], 1);
}

TEST(SinkMemoryTest, AllOfAllMappingsIsTheSame) {
  const SinkMemory memory;
  const AlignedMapping large = memory.Map(64 * kBytes);
  const AlignedMapping small = memory.Map(64);
  ASSERT_NE(large.base(), nullptr);
  ASSERT_NE(small.base(), nullptr);
  small.base()[0] = 42;
  for (int64_t offset = 0; offset < large.bytes(); offset += kBytes) {
    ASSERT_EQ(large.base()[offset], 42) << offset;
  }
}

TEST(SinkMemoryTest, AMappingOutlivesIt) {
  std::optional<SinkMemory> memory(std::in_place);
  AlignedMapping range = memory->Map(kBytes);
  ASSERT_NE(range.base(), nullptr);
  memory.reset();
  range.base()[kBytes - 1] = 7;
  const AlignedMapping moved = std::move(range);
  EXPECT_EQ(moved.base()[kBytes - 1], 7);
}

TEST(SinkMemoryTest, IsAligned) {
  const SinkMemory memory;
  const AlignedMapping range = memory.Map(1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(range.base()) %
                AlignedMapping::kAlignmentBytes,
            0u);
}

TEST(SinkMemoryTest, MoreThanThereCanBeIsRefused) {
  const SinkMemory memory;
  EXPECT_EQ(memory.Map(int64_t{1} << 62).base(), nullptr);
}

}  // namespace
}  // namespace sn_tf
