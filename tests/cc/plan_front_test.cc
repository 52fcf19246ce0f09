// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/plan_front.h"

#include <gtest/gtest.h>

namespace sn_tf {
namespace {

Schedule Named(OpId op) { return {{ItemKind::kRun, op}}; }

TEST(PlanFrontTest, KeepsWhatIsTheBestForSomeBudget) {
  PlanFront front;
  EXPECT_EQ(front.Within(1000), nullptr);
  front.Offer(Named(1), 100, 5);
  front.Offer(Named(2), 50, 9);
  front.Offer(Named(3), 80, 9);   // As slow as what is smaller.
  front.Offer(Named(4), 100, 6);  // Slower than what is as small.
  EXPECT_EQ(front.kept(), 2U);
  EXPECT_EQ(front.Within(49), nullptr);
  EXPECT_EQ(front.Within(50)->schedule, Named(2));
  EXPECT_EQ(front.Within(99)->schedule, Named(2));
  EXPECT_EQ(front.Within(100)->schedule, Named(1));
  EXPECT_EQ(front.Within(1000)->schedule, Named(1));
}

TEST(PlanFrontTest, WhatIsWorseInBothGoes) {
  PlanFront front;
  front.Offer(Named(1), 100, 5);
  front.Offer(Named(2), 120, 4);
  front.Offer(Named(3), 150, 1);
  front.Offer(Named(4), 90, 4);
  EXPECT_FALSE(front.IsOfUse(90, 4));
  EXPECT_TRUE(front.IsOfUse(89, 4));
  ASSERT_EQ(front.entries().size(), 2U);
  EXPECT_EQ(front.Within(120)->schedule, Named(4));
  EXPECT_EQ(front.Within(150)->schedule, Named(3));
}

}  // namespace
}  // namespace sn_tf
