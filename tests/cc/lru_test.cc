// SPDX-License-Identifier: Apache-2.0
#include "cc/core/lru.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace sn_tf {
namespace {

template <typename Key>
std::vector<Key> Order(const Lru<Key>& lru) {
  return {lru.begin(), lru.end()};
}

TEST(LruTest, TheLeastRecentlyUsedComesFirst) {
  Lru<std::string> lru;
  EXPECT_TRUE(Order(lru).empty());
  for (const char* const key : {"a", "b", "c"}) lru.Touch(key);
  EXPECT_EQ(Order(lru), std::vector<std::string>({"a", "b", "c"}));
  lru.Touch("a");
  EXPECT_EQ(Order(lru), std::vector<std::string>({"b", "c", "a"}));
  lru.Touch("a");
  EXPECT_EQ(Order(lru), std::vector<std::string>({"b", "c", "a"}));
}

TEST(LruTest, WhatIsErasedIsGone) {
  Lru<std::string> lru;
  for (const char* const key : {"a", "b", "c"}) lru.Touch(key);
  EXPECT_TRUE(lru.Erase("b"));
  EXPECT_FALSE(lru.Erase("b"));
  EXPECT_FALSE(lru.Erase("never"));
  EXPECT_EQ(Order(lru), std::vector<std::string>({"a", "c"}));
  lru.Touch("b");
  EXPECT_EQ(Order(lru), std::vector<std::string>({"a", "c", "b"}));
}

TEST(LruTest, AgreesWithAList) {
  std::minstd_rand random(7);
  Lru<int> lru;
  std::vector<int> expected;
  for (int i = 0; i < 2000; ++i) {
    const int key = static_cast<int>(random() % 20);
    const auto found = std::find(expected.begin(), expected.end(), key);
    const bool known = found != expected.end();
    if (known) expected.erase(found);
    if (random() % 3 == 0) {
      EXPECT_EQ(lru.Erase(key), known);
    } else {
      lru.Touch(key);
      expected.push_back(key);
    }
    ASSERT_EQ(Order(lru), expected);
  }
}

}  // namespace
}  // namespace sn_tf
