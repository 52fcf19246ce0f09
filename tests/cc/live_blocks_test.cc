// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/live_blocks.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cc/allocator/arena_allocator.h"
#include "tsl/profiler/lib/scoped_memory_debug_annotation.h"

namespace sn_tf {
namespace {

using tsl::profiler::ScopedMemoryDebugAnnotation;

constexpr int64_t kMB = 1'000'000;
constexpr int kFloat = 1;
constexpr int64_t kStep = 7;

using Line = std::pair<std::string, int64_t>;  // Op and bytes.

std::vector<Line> Lines(const LiveMemory& live) {
  std::vector<Line> lines;
  for (const LiveBuffers& buffers : live.largest) {
    lines.emplace_back(buffers.op, buffers.bytes);
  }
  return lines;
}

class LiveBlocksTest : public testing::Test {
 protected:
  // A block of `bytes` made by `op`. Returns where it is.
  int64_t Add(const std::string& op, int64_t bytes, int64_t step_id = kStep,
              const std::string& shape = "[1]") {
    const ScopedMemoryDebugAnnotation annotation(op, step_id, "output", kFloat,
                                                 [&shape] { return shape; });
    end_ += 64;
    live_.Add(end_, bytes);
    return end_;
  }

  int64_t end_ = 0;
  LiveBlocks live_;
};

TEST_F(LiveBlocksTest, LargestFirst) {
  Add("small", 1 * kMB);
  Add("large", 3 * kMB);
  Add("middle", 2 * kMB);
  EXPECT_EQ(Lines(live_.Largest(10, kStep)),
            (std::vector<Line>{
                {"large", 3 * kMB}, {"middle", 2 * kMB}, {"small", 1 * kMB}}));
  EXPECT_EQ(Lines(live_.Largest(1, kStep)),
            (std::vector<Line>{{"large", 3 * kMB}}));
}

TEST_F(LiveBlocksTest, TheSameSizeByName) {
  for (const char* const op : {"c", "a", "d", "b"}) Add(op, kMB);
  EXPECT_EQ(Lines(live_.Largest(3, kStep)),
            (std::vector<Line>{{"a", kMB}, {"b", kMB}, {"c", kMB}}));
}

TEST_F(LiveBlocksTest, AnOpsBlocksAreTakenTogether) {
  Add("many", 1 * kMB, kStep, "[1000]");
  Add("one", 4 * kMB);
  Add("many", 3 * kMB, kStep, "[3000]");
  Add("many", 2 * kMB, kStep, "[2000]");
  const LiveMemory live = live_.Largest(10, kStep);
  ASSERT_EQ(Lines(live),
            (std::vector<Line>{{"many", 6 * kMB}, {"one", 4 * kMB}}));
  EXPECT_EQ(live.largest[0].buffers, 3);
  EXPECT_EQ(live.largest[0].largest_bytes, 3 * kMB);
  EXPECT_EQ(live.largest[0].shape, "[3000]");
  EXPECT_EQ(live.largest[0].dtype, kFloat);
  EXPECT_EQ(live.largest[0].region, AllocationEvent::Region::kOutput);
  EXPECT_EQ(live.largest[1].buffers, 1);
}

TEST_F(LiveBlocksTest, WhatIsFreedIsGone) {
  const int64_t first = Add("op", 2 * kMB);
  Add("op", 1 * kMB);
  live_.Remove(first);
  EXPECT_EQ(Lines(live_.Largest(10, kStep)),
            (std::vector<Line>{{"op", 1 * kMB}}));
  live_.Remove(first);
  live_.Remove(12345);
  EXPECT_EQ(Lines(live_.Largest(10, kStep)),
            (std::vector<Line>{{"op", 1 * kMB}}));
  // The same place again.
  live_.Add(first, 3 * kMB);
  EXPECT_EQ(Lines(live_.Largest(10, kStep)),
            (std::vector<Line>{{"", 3 * kMB}, {"op", 1 * kMB}}));
}

TEST_F(LiveBlocksTest, WhatIsFromBeforeTheStepIsCountedApart) {
  Add("op", 2 * kMB, 6);
  Add("op", 1 * kMB, 0);
  Add("op", 1 * kMB);
  const LiveMemory live = live_.Largest(10, kStep);
  EXPECT_EQ(live.before_bytes, 3 * kMB);
  ASSERT_EQ(Lines(live), (std::vector<Line>{{"op", 3 * kMB}, {"op", 1 * kMB}}));
  EXPECT_TRUE(live.largest[0].of_before);
  EXPECT_FALSE(live.largest[1].of_before);
  const LiveMemory outside = live_.Largest(10, 0);
  EXPECT_EQ(outside.before_bytes, 0);
  EXPECT_EQ(Lines(outside), (std::vector<Line>{{"op", 4 * kMB}}));
}

TEST_F(LiveBlocksTest, SizesWithoutEndLoseNothing) {
  const int64_t kept = Add("kept", 9 * kMB, kStep, "[9]");
  for (int64_t i = 0; i < 100'000; ++i) {
    live_.Remove(Add("varies", LiveBlocks::kLeastBytes + i));
  }
  Add("kept", 9 * kMB, kStep, "[9]");
  LiveMemory live = live_.Largest(10, kStep);
  ASSERT_EQ(Lines(live), (std::vector<Line>{{"kept", 18 * kMB}}));
  EXPECT_EQ(live.largest[0].shape, "[9]");
  live_.Remove(kept);
  EXPECT_EQ(Lines(live_.Largest(10, kStep)),
            (std::vector<Line>{{"kept", 9 * kMB}}));
}

TEST(LiveBlocksOfTheArenaTest, FollowAllocationsAndReleases) {
  ArenaAllocator arena("test", 64 * kMB);
  const auto allocate = [&arena](const char* op, int64_t bytes) {
    const ScopedMemoryDebugAnnotation annotation(
        op, kStep, "temp", kFloat, [] { return std::string("[2,3]"); });
    return arena.AllocateRaw(64, static_cast<size_t>(bytes));
  };
  void* const conv = allocate("conv", 1 << 20);
  void* const relu = allocate("relu", 2 << 20);
  void* const small = allocate("small", LiveBlocks::kLeastBytes - 64);
  void* const least = allocate("least", LiveBlocks::kLeastBytes);
  EXPECT_EQ(Lines(arena.live_blocks().Largest(10, kStep)),
            (std::vector<Line>{{"relu", 2 << 20},
                               {"conv", 1 << 20},
                               {"least", LiveBlocks::kLeastBytes}}));
  for (void* const block : {relu, small, least}) arena.DeallocateRaw(block);
  const LiveMemory live = arena.live_blocks().Largest(10, kStep);
  EXPECT_EQ(Lines(live), (std::vector<Line>{{"conv", 1 << 20}}));
  EXPECT_EQ(live.largest[0].shape, "[2,3]");
  EXPECT_EQ(live.largest[0].region, AllocationEvent::Region::kTemp);
  arena.DeallocateRaw(conv);
}

}  // namespace
}  // namespace sn_tf
