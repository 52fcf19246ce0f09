// SPDX-License-Identifier: Apache-2.0
//
// Small blocks in an arena that is large enough for extents.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "cc/core/arena.h"
#include "tests/cc/naive_arena.h"

namespace sn_tf {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

TEST(ArenaExtentsTest, SmallBlocksStandTogether) {
  Arena arena(1024 * kMiB);
  std::vector<int64_t> small;
  std::vector<int64_t> large;
  for (int i = 0; i < 8; ++i) {
    large.push_back(arena.Allocate(kMiB));
    small.push_back(arena.Allocate(100));
  }
  for (int i = 1; i < 8; ++i) EXPECT_EQ(small[i], small[0] + 128 * i);
  for (const int64_t offset : large) arena.Free(offset);
  EXPECT_TRUE(arena.IsValid());
  // One extent stands between the free large chunks.
  EXPECT_EQ(arena.FreeRanges(kMiB).size(), 2u);
}

TEST(ArenaExtentsTest, ExtentsWithoutBlocksAreLargeChunksAgain) {
  Arena arena(1024 * kMiB);
  std::vector<int64_t> small;
  for (int i = 0; i < 1000; ++i) small.push_back(arena.Allocate(30 * kKiB));
  EXPECT_TRUE(arena.IsValid());
  std::mt19937_64 random(3);
  std::shuffle(small.begin(), small.end(), random);
  for (const int64_t offset : small) arena.Free(offset);
  EXPECT_TRUE(arena.IsValid());
  EXPECT_EQ(arena.Allocate(1024 * kMiB), 0);
}

TEST(ArenaExtentsTest, SmallAndLargeBlocksTakeEachOthersLastRoom) {
  Arena arena(64 * kMiB);
  const int64_t small = arena.Allocate(64);
  const int64_t rest = 64 * kMiB - 256 * kKiB;
  const int64_t large = arena.Allocate(rest - 128);
  ASSERT_NE(large, Arena::kNoOffset);
  // No room for another extent, but for a block.
  ASSERT_EQ(arena.Allocate(448), 64);
  EXPECT_NE(arena.Allocate(256 * kKiB - 512), Arena::kNoOffset)
      << "all that the extent has left";
  const int64_t last = arena.Allocate(128);
  ASSERT_NE(last, Arena::kNoOffset);
  EXPECT_EQ(arena.Allocate(64), Arena::kNoOffset);
  EXPECT_TRUE(arena.IsValid());
  arena.Free(last);
  EXPECT_EQ(arena.Allocate(100), last);
  arena.Free(small);
  EXPECT_EQ(arena.Allocate(64), small);
  EXPECT_TRUE(arena.IsValid());
}

// The same step again and again, in little memory: few large blocks are in use
// at a time. After each comes a small one that outlives the step, in place of
// that of the step before, as statistics of batch normalization do. Returns the
// high-water mark.
template <typename AnyArena>
int64_t HighWaterOfSteps(AnyArena* arena, uint64_t seed) {
  constexpr int kOps = 100;
  constexpr size_t kLive = 8;
  int64_t high_water = 0;
  const auto allocate = [&](int64_t bytes) {
    const int64_t offset = arena->Allocate(bytes);
    high_water = std::max(high_water, offset + bytes);
    return offset;
  };
  std::vector<int64_t> statistics;
  for (int i = 0; i < kOps; ++i) statistics.push_back(allocate(kKiB));
  for (int step = 0; step < 100; ++step) {
    std::mt19937_64 random(seed);
    std::vector<int64_t> live;
    for (int op = 0; op < kOps; ++op) {
      const auto size = static_cast<int64_t>(random() % 144 + 1);
      live.push_back(allocate(size * 64 * kKiB));
      const int64_t anew = allocate(kKiB);
      arena->Free(statistics[op]);
      statistics[op] = anew;
      if (live.size() <= kLive) continue;
      std::swap(live[random() % kLive], live.back());
      arena->Free(live.back());
      live.pop_back();
    }
    for (const int64_t offset : live) arena->Free(offset);
  }
  return high_water;
}

TEST(ArenaExtentsTest, SmallBlocksThatOutliveStepsKeepOutOfTheWay) {
  for (const uint64_t seed : {1, 2, 3}) {
    Arena arena(1024 * kMiB);
    NaiveArena without_extents(1024 * kMiB, 64,
                               NaiveArena::SmallBlocks::kAmongOthers);
    const int64_t best_fit = HighWaterOfSteps(&without_extents, seed);
    EXPECT_LT(HighWaterOfSteps(&arena, seed),
              0.95 * static_cast<double>(best_fit));
    EXPECT_TRUE(arena.IsValid());
  }
}

}  // namespace
}  // namespace sn_tf
