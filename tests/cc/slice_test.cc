// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/slice.h"

#include <gtest/gtest.h>

#include <vector>

namespace sn_tf {
namespace {

std::vector<int32_t> Copy(const Slice& slice) {
  return {slice.begin(), slice.end()};
}

TEST(SliceTest, ValuesOfAKeyStandTogetherAndInOrder) {
  std::vector<int32_t> sorted;
  const std::vector<Slice> groups =
      GroupByKey({2, 0, 2, 3, 2}, {10, 11, 12, 13, 9}, 4, &sorted);
  ASSERT_EQ(groups.size(), 4);
  EXPECT_EQ(Copy(groups[0]), std::vector<int32_t>({11}));
  EXPECT_TRUE(groups[1].empty());
  EXPECT_EQ(Copy(groups[2]), std::vector<int32_t>({10, 12, 9}));
  EXPECT_EQ(Copy(groups[3]), std::vector<int32_t>({13}));
  EXPECT_EQ(sorted, std::vector<int32_t>({11, 10, 12, 9, 13}));
}

TEST(SliceTest, AGroupIsReadLikeAVector) {
  std::vector<int32_t> sorted;
  const std::vector<Slice> groups = GroupByKey({0, 0}, {7, 8}, 1, &sorted);
  EXPECT_EQ(groups[0].size(), 2);
  EXPECT_EQ(groups[0].front(), 7);
  EXPECT_EQ(groups[0].back(), 8);
  EXPECT_EQ(groups[0][1], 8);
}

TEST(SliceTest, OfNothing) {
  std::vector<int32_t> sorted;
  EXPECT_TRUE(GroupByKey({}, {}, 0, &sorted).empty());
  EXPECT_TRUE(Slice().empty());
}

}  // namespace
}  // namespace sn_tf
