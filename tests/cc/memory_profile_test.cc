// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/memory_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sn_tf {
namespace {

TEST(MemoryProfileTest, FindsTheLastPositionAboveALimit) {
  MemoryProfile profile({5, 9, 3, 9, 4});
  EXPECT_EQ(profile.LastAbove(0, 4, 4), 3);
  EXPECT_EQ(profile.LastAbove(0, 2, 4), 1);
  EXPECT_EQ(profile.LastAbove(0, 4, 9), -1);
  EXPECT_EQ(profile.LastAbove(3, 2, 0), -1);
  profile.Add(2, 4, 6);
  EXPECT_EQ(profile.LastAbove(0, 4, 9), 4);
}

TEST(MemoryProfileTest, OfNothing) {
  EXPECT_EQ(MemoryProfile({}).LastAbove(0, -1, 0), -1);
}

TEST(MemoryProfileTest, AgreesWithASearchThroughAll) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::minstd_rand random(seed + 1);
    std::vector<int64_t> bytes(1 + random() % 40);
    for (int64_t& each : bytes) each = random() % 100;
    MemoryProfile profile(bytes);
    const auto size = static_cast<int32_t>(bytes.size());
    for (int step = 0; step < 100; ++step) {
      const auto begin = static_cast<int32_t>(random() % size);
      const auto end = begin + static_cast<int32_t>(random() % (size - begin));
      const auto more = static_cast<int64_t>(random() % 21) - 10;
      profile.Add(begin, end, more);
      for (int32_t p = begin; p <= end; ++p) bytes[p] += more;
      const auto first = static_cast<int32_t>(random() % size);
      const auto limit = static_cast<int64_t>(random() % 100);
      int32_t last = -1;
      for (int32_t p = first; p <= end; ++p) {
        if (bytes[p] > limit) last = p;
      }
      ASSERT_EQ(profile.LastAbove(first, end, limit), last) << "seed " << seed;
      if (first > end) continue;
      ASSERT_EQ(
          profile.Max(first, end),
          *std::max_element(bytes.begin() + first, bytes.begin() + end + 1))
          << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace sn_tf
