// SPDX-License-Identifier: Apache-2.0
#include "cc/core/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "tests/cc/naive_arena.h"

namespace sn_tf {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

// Sizes as in training: mostly small, a few large, some repeated exactly.
int64_t RandomSize(std::mt19937_64& random) {
  switch (random() % 4) {
    case 0:
      return static_cast<int64_t>(random() % 512);
    case 1:
      return static_cast<int64_t>(random() % (128 * kKiB));
    case 2:
      return static_cast<int64_t>(random() % (4 * kMiB));
    default:
      return int64_t{64} << (random() % 14);
  }
}

TEST(ArenaTest, AllocatesLowestOffsetsFirst) {
  Arena arena(1024);
  EXPECT_EQ(arena.Allocate(100), 0);
  EXPECT_EQ(arena.Allocate(64), 128);
  EXPECT_EQ(arena.SizeOf(0), 128);
  EXPECT_EQ(arena.SizeOf(128), 64);
  EXPECT_EQ(arena.SizeOf(64), 0);
  EXPECT_TRUE(arena.IsValid());
}

TEST(ArenaTest, ZeroBytesTakeOneUnit) {
  Arena arena(256);
  const int64_t first = arena.Allocate(0);
  const int64_t second = arena.Allocate(0);
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 64);
  EXPECT_EQ(arena.in_use_bytes(), 128);
}

TEST(ArenaTest, BestFitTakesSmallestHoleAndLowestOfEqual) {
  Arena arena(64 * kKiB);
  std::vector<int64_t> at;
  for (const int64_t bytes : {1024, 64, 512, 64, 512, 64}) {
    at.push_back(arena.Allocate(bytes));
  }
  arena.Free(at[0]);
  arena.Free(at[4]);
  arena.Free(at[2]);
  EXPECT_EQ(arena.Allocate(512), at[2]);
  EXPECT_EQ(arena.Allocate(500), at[4]);
  EXPECT_EQ(arena.Allocate(500), at[0]);
  EXPECT_TRUE(arena.IsValid());
}

TEST(ArenaTest, NeighboursCoalesceInEveryOrder) {
  std::vector<int> order = {0, 1, 2, 3};
  do {
    Arena arena(1024);
    std::vector<int64_t> at;
    for (int i = 0; i < 4; ++i) at.push_back(arena.Allocate(256));
    EXPECT_EQ(arena.Allocate(64), Arena::kNoOffset);
    for (const int i : order) {
      EXPECT_EQ(arena.Free(at[i]), 256);
      EXPECT_TRUE(arena.IsValid());
    }
    EXPECT_EQ(arena.stats().largest_free_bytes, 1024);
    EXPECT_EQ(arena.Allocate(1024), 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ArenaTest, RefusesWhatDoesNotFit) {
  Arena arena(1000);  // Rounded down to 960.
  EXPECT_EQ(arena.capacity_bytes(), 960);
  EXPECT_EQ(arena.Allocate(961), Arena::kNoOffset);
  EXPECT_EQ(arena.Allocate(-1), Arena::kNoOffset);
  EXPECT_EQ(arena.Allocate(INT64_MAX), Arena::kNoOffset);
  EXPECT_EQ(arena.stats().allocations, 0);
  EXPECT_EQ(arena.Allocate(960), 0);
  EXPECT_EQ(Arena(0).Allocate(1), Arena::kNoOffset);
}

TEST(ArenaTest, HonoursLargerAlignmentAndKeepsThePadding) {
  Arena arena(16 * kMiB);
  arena.Allocate(64);
  const int64_t page = arena.Allocate(100, 4096);
  EXPECT_EQ(page, 4096);
  EXPECT_EQ(arena.SizeOf(page), 128);
  EXPECT_EQ(arena.Allocate(4032), 64) << "the padding stays usable";
  EXPECT_EQ(arena.Allocate(1, 16), 4096 + 128);
  EXPECT_EQ(arena.Allocate(1, 32 * kMiB), Arena::kNoOffset);
  EXPECT_TRUE(arena.IsValid());
}

TEST(ArenaTest, AlignedAllocationUsesAnExactHole) {
  Arena arena(8192);
  arena.Allocate(4096);
  EXPECT_EQ(arena.Allocate(4096, 4096), 4096);
  EXPECT_EQ(arena.stats().largest_free_bytes, 0);
}

TEST(ArenaTest, BlocksForDirectTransfersAreAligned) {
  Arena arena(4 * kMiB);
  EXPECT_EQ(arena.Allocate(64), 0);
  const int64_t first = arena.Allocate(64 * kKiB + 64);
  const int64_t second = arena.Allocate(64 * kKiB);
  const int64_t below = arena.Allocate(64 * kKiB - 64);
  EXPECT_EQ(first, 512);
  EXPECT_EQ(second, 512 + 64 * kKiB + 512);
  EXPECT_EQ(below, second + 64 * kKiB);
  EXPECT_EQ(arena.in_use_bytes(), 192 * kKiB + 64) << "sizes are exact";
  EXPECT_EQ(arena.Allocate(448), 64) << "and what is between stays usable";
  arena.Free(first);
  EXPECT_EQ(arena.Allocate(64 * kKiB + 64), first);
  // The only room, and not aligned.
  Arena full(64 * kKiB + 256);
  EXPECT_EQ(full.Allocate(256), 0);
  EXPECT_EQ(full.Allocate(64 * kKiB), Arena::kNoOffset);
}

TEST(ArenaTest, AlignmentsBeyondTheCapacityLeaveTheStart) {
  Arena arena(4096);
  EXPECT_EQ(arena.Allocate(64, kMiB), 0);
  EXPECT_EQ(arena.Allocate(64, kMiB), Arena::kNoOffset);
  EXPECT_TRUE(arena.IsValid());
}

TEST(ArenaTest, TheLargestNumbersDoNotOverflow) {
  Arena arena(INT64_MAX);
  const int64_t capacity = arena.capacity_bytes();
  EXPECT_EQ(arena.Allocate(capacity), 0);
  arena.Free(0);
  ASSERT_EQ(arena.Allocate(64), 0);
  constexpr int64_t kAlignment = int64_t{1} << 62;
  EXPECT_EQ(arena.Allocate(capacity - 64, kAlignment), Arena::kNoOffset);
  EXPECT_EQ(arena.Allocate(64, kAlignment), kAlignment);
  EXPECT_TRUE(arena.IsValid());
}

TEST(ArenaTest, StatisticsFollow) {
  Arena arena(kMiB);
  EXPECT_EQ(arena.stats().fragmentation(), 1);
  const int64_t a = arena.Allocate(1024);
  const int64_t b = arena.Allocate(2048);
  const int64_t c = arena.Allocate(1024);
  arena.Free(b);
  ArenaStats stats = arena.stats();
  EXPECT_EQ(stats.in_use_bytes, 2048);
  EXPECT_EQ(stats.peak_bytes, 4096);
  EXPECT_EQ(stats.high_water_bytes, 4096);
  EXPECT_EQ(stats.allocations, 3);
  EXPECT_EQ(stats.largest_free_bytes, kMiB - 4096);

  arena.ResetPeak();
  stats = arena.stats();
  EXPECT_EQ(stats.peak_bytes, 2048);
  EXPECT_EQ(stats.high_water_bytes, 4096) << "c ends there";
  EXPECT_EQ(stats.fragmentation(), 2);
  arena.Free(c);
  arena.ResetPeak();
  EXPECT_EQ(arena.stats().high_water_bytes, 1024);
  arena.Free(a);
  arena.ResetPeak();
  EXPECT_EQ(arena.stats().high_water_bytes, 0);
}

TEST(ArenaTest, HeldRangesAreNeitherFreeNorInUse) {
  Arena arena(4096);
  const int64_t a = arena.Allocate(1024);
  const int64_t b = arena.Allocate(1024);
  arena.Free(a);
  const std::vector<Arena::FreeRange> ranges = arena.FreeRanges(1024);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].offset, a);
  EXPECT_EQ(ranges[0].bytes, 1024);
  EXPECT_EQ(ranges[1].offset, 2048);
  arena.Hold(ranges[0]);
  EXPECT_EQ(arena.in_use_bytes(), 1024);
  EXPECT_EQ(arena.Allocate(512), 2048);
  arena.Free(b);  // Next to the held range: must not merge with it.
  EXPECT_TRUE(arena.IsValid());
  arena.Release(ranges[0]);
  EXPECT_TRUE(arena.IsValid());
  EXPECT_EQ(arena.FreeRanges(0)[0].bytes, 1536) << "the end of the arena";
  EXPECT_EQ(arena.Allocate(2048), 0) << "merged on release";
}

TEST(ArenaTest, CopiesAreIndependent) {
  Arena arena(kMiB);
  const int64_t a = arena.Allocate(1024);
  Arena copy = arena;
  copy.Free(a);
  EXPECT_EQ(copy.in_use_bytes(), 0);
  EXPECT_EQ(arena.in_use_bytes(), 1024);
  EXPECT_TRUE(copy.IsValid());
  EXPECT_TRUE(arena.IsValid());
}

TEST(ArenaTest, BlocksAreListedByOffset) {
  Arena arena(kMiB);
  const int64_t a = arena.Allocate(100);
  const int64_t b = arena.Allocate(64);
  const int64_t c = arena.Allocate(1024);
  arena.Free(b);
  const std::vector<Arena::Block> blocks = arena.Blocks();
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].offset, a);
  EXPECT_EQ(blocks[0].bytes, 128);
  EXPECT_EQ(blocks[1].offset, c);
  EXPECT_EQ(blocks[1].bytes, 1024);
}

TEST(ArenaDeathTest, FreeingTwiceEndsTheProcess) {
  Arena arena(kMiB);
  const int64_t a = arena.Allocate(64);
  arena.Free(a);
  EXPECT_DEATH(arena.Free(a), "Free\\(0\\).*freed twice");
}

class ArenaModelTest : public testing::TestWithParam<uint64_t> {};

TEST_P(ArenaModelTest, AgreesWithNaiveModel) {
  std::mt19937_64 random(GetParam());
  const int64_t unit = int64_t{1} << (random() % 9);
  // Without extents, and with them.
  const int64_t capacity = (GetParam() % 2 == 0 ? 16 : 64) * kMiB;
  Arena arena(capacity, unit);
  NaiveArena naive(capacity, unit);
  std::vector<int64_t> live;
  for (int step = 0; step < 3000; ++step) {
    if (live.empty() || random() % 100 < 52) {
      const int64_t bytes = RandomSize(random);
      const int64_t expected = naive.Allocate(bytes);
      ASSERT_EQ(arena.Allocate(bytes), expected) << "step " << step;
      if (expected != Arena::kNoOffset) live.push_back(expected);
    } else {
      const size_t i = random() % live.size();
      arena.Free(live[i]);
      naive.Free(live[i]);
      live[i] = live.back();
      live.pop_back();
    }
    const ArenaStats expected = naive.stats();
    ASSERT_EQ(arena.in_use_bytes(), expected.in_use_bytes);
    ASSERT_EQ(arena.stats().largest_free_bytes, expected.largest_free_bytes);
    if (step % 64 == 0) {
      ASSERT_TRUE(arena.IsValid()) << "step " << step;
    }
  }
  for (const int64_t offset : live) arena.Free(offset);
  EXPECT_TRUE(arena.IsValid());
  EXPECT_EQ(arena.stats().largest_free_bytes, capacity);
}

TEST_P(ArenaModelTest, AlignedBlocksNeverOverlap) {
  std::mt19937_64 random(GetParam());
  Arena arena(int64_t{1} << 40);
  std::map<int64_t, int64_t> live;
  for (int step = 0; step < 3000; ++step) {
    if (live.empty() || random() % 100 < 55) {
      const int64_t alignment = int64_t{1} << (random() % 16);
      const int64_t bytes = RandomSize(random);
      const int64_t offset = arena.Allocate(bytes, alignment);
      ASSERT_NE(offset, Arena::kNoOffset);
      ASSERT_EQ(offset % alignment, 0);
      const int64_t size = arena.SizeOf(offset);
      ASSERT_GE(size, bytes);
      const auto after = live.lower_bound(offset);
      ASSERT_TRUE(after == live.end() || offset + size <= after->first);
      ASSERT_TRUE(after == live.begin() ||
                  std::prev(after)->first + std::prev(after)->second <= offset);
      live[offset] = size;
    } else {
      auto victim = live.lower_bound(
          static_cast<int64_t>(random() % (live.rbegin()->first + 1)));
      ASSERT_EQ(arena.Free(victim->first), victim->second);
      live.erase(victim);
    }
    if (step % 64 == 0) {
      ASSERT_TRUE(arena.IsValid()) << "step " << step;
    }
  }
}

TEST_P(ArenaModelTest, SameCallsGiveSameOffsets) {
  std::vector<int64_t> offsets[2];
  for (std::vector<int64_t>& out : offsets) {
    std::mt19937_64 random(GetParam());
    Arena arena(int64_t{1} << 40);
    std::vector<int64_t> live;
    for (int step = 0; step < 1000; ++step) {
      live.push_back(arena.Allocate(RandomSize(random)));
      out.push_back(live.back());
      if (random() % 2 == 0) {
        std::swap(live[random() % live.size()], live.back());
        arena.Free(live.back());
        live.pop_back();
      }
    }
  }
  EXPECT_EQ(offsets[0], offsets[1]);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ArenaModelTest,
                         testing::Range(uint64_t{1}, uint64_t{13}));

}  // namespace
}  // namespace sn_tf
