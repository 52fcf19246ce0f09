// SPDX-License-Identifier: Apache-2.0
#include "cc/core/page_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <random>
#include <set>

namespace sn_tf {
namespace {

TEST(PageSetTest, CountsWhatChanged) {
  PageSet set;
  EXPECT_EQ(set.Insert({60, 70}), 10);
  EXPECT_EQ(set.Insert({65, 200}), 130);
  EXPECT_EQ(set.Insert({65, 200}), 0);
  EXPECT_EQ(set.Insert({5, 5}), 0);
  EXPECT_EQ(set.count(), 140);
  EXPECT_EQ(set.Erase({0, 64}), 4);
  EXPECT_EQ(set.Erase({0, int64_t{1} << 40}), 136);
  EXPECT_EQ(set.count(), 0);
}

TEST(PageSetTest, TrimFindsFirstAndLast) {
  PageSet set;
  set.Insert({100, 101});
  set.Insert({700, 703});
  const PageSet::Pages all = set.Trim({0, int64_t{1} << 40});
  EXPECT_EQ(all.begin, 100);
  EXPECT_EQ(all.end, 703);
  const PageSet::Pages part = set.Trim({101, 702});
  EXPECT_EQ(part.begin, 700);
  EXPECT_EQ(part.end, 702);
  const PageSet::Pages none = set.Trim({101, 700});
  EXPECT_EQ(none.begin, none.end);
}

TEST(PageSetTest, AgreesWithStdSet) {
  std::mt19937_64 random(7);
  PageSet set;
  std::set<int64_t> model;
  for (int step = 0; step < 4000; ++step) {
    const auto begin = static_cast<int64_t>(random() % 500);
    const auto end = begin + static_cast<int64_t>(random() % 150);
    const auto from = model.lower_bound(begin);
    const auto to = model.lower_bound(end);
    const auto members = static_cast<int64_t>(std::distance(from, to));
    const PageSet::Pages trimmed = set.Trim({begin, end});
    if (members == 0) {
      ASSERT_EQ(trimmed.begin, trimmed.end);
    } else {
      ASSERT_EQ(trimmed.begin, *from);
      ASSERT_EQ(trimmed.end, *std::prev(to) + 1);
    }
    if (random() % 2 == 0) {
      ASSERT_EQ(set.Insert({begin, end}), end - begin - members);
      for (int64_t page = begin; page < end; ++page) model.insert(page);
    } else {
      ASSERT_EQ(set.Erase({begin, end}), members);
      model.erase(from, to);
    }
    ASSERT_EQ(set.count(), static_cast<int64_t>(model.size()));
  }
}

}  // namespace
}  // namespace sn_tf
