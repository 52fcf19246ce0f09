// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/side_by_side.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

// `a`, `b` and `c` read `in` and do not need each other; `sum` needs all.
class SideBySideTest : public testing::Test {
 protected:
  SideBySideTest() {
    small_.Add("in", {}, {100});
    small_.Add("a", {"in"}, {10});
    small_.Add("b", {"in"}, {20, true, 3});
    small_.Add("c", {"in"}, {30, true, 2});
    small_.Add("sum", {"a", "b", "c"}, {10});
  }

  // Members of each pair, from the route in which the ops were added.
  std::string Pairs(int64_t peak_bytes) {
    const MemoryGraph graph = small_.Build();
    Route route;
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      route.push_back(static_cast<OpId>(i));
    }
    const Schedule schedule = ScheduleOfRoute(route);
    std::string text;
    for (const SideBySide& pair : FindSideBySide(graph, schedule, peak_bytes)) {
      text += graph.ops[schedule[pair.first_end].id].name + "|";
      for (Position p = pair.begin; p <= pair.end; ++p) {
        text += graph.ops[schedule[p].id].name;
      }
      text += " ";
    }
    return text;
  }

  static constexpr int64_t kPlenty = 1000;
  SmallGraph small_;
};

TEST_F(SideBySideTest, ThoseInWhichMostTimeIsSpentTogether) {
  EXPECT_EQ(Pairs(kPlenty), "b|c ");  // Two seconds; a and b only one.
  small_.op("c").seconds = 0.5;
  EXPECT_EQ(Pairs(kPlenty), "a|b ");
}

TEST_F(SideBySideTest, BothMustFit) {
  // `in`, `a`, `b` and `c` are there at once in any case; `b` needs more.
  EXPECT_EQ(Pairs(160), "b|c ");
  small_.op("b").workspace_bytes = 50;
  EXPECT_EQ(Pairs(180), "a|b ");
  EXPECT_EQ(Pairs(179), "");
}

TEST_F(SideBySideTest, WhatOneOfThemReadsIsThereUntilBothHaveEnded) {
  SmallGraph chain;
  chain.Add("in", {}, {100});
  chain.Add("other", {}, {10});
  chain.Add("a", {"in"}, {40});
  chain.Add("b", {"other"}, {30});
  chain.Add("sum", {"a", "b"}, {10});
  small_ = chain;
  EXPECT_EQ(Pairs(180), "in|other a|b ");
  // One after the other they need 150.
  EXPECT_EQ(Pairs(179), "in|other ");
}

TEST_F(SideBySideTest, NeitherChangesState) {
  small_.op("b").pure = false;
  EXPECT_EQ(Pairs(kPlenty), "");
}

TEST_F(SideBySideTest, NeitherNeedsTheOther) {
  small_.After("c", "b");
  EXPECT_EQ(Pairs(kPlenty), "a|b ");
}

TEST_F(SideBySideTest, OpsThatMayBeFusedAreOne) {
  small_.op("b").partner = small_.id("c");
  small_.op("c").partner = small_.id("b");
  EXPECT_EQ(Pairs(kPlenty), "a|bc ");
}

TEST_F(SideBySideTest, HardlyAnyTimeIsNotWorthIt) {
  for (const char* const op : {"a", "b", "c"}) small_.op(op).seconds = 1e-6;
  EXPECT_EQ(Pairs(kPlenty), "");
}

TEST_F(SideBySideTest, NothingElseStandsBetweenThem) {
  const MemoryGraph graph = small_.Build();
  const BufferId a = small_.buffer_id("a");
  Schedule schedule = {{ItemKind::kRun, small_.id("in")},
                       {ItemKind::kRun, small_.id("a")},
                       {ItemKind::kSwapOut, a},
                       {ItemKind::kRun, small_.id("b")},
                       {ItemKind::kSwapWait, a},
                       {ItemKind::kRun, small_.id("c")},
                       {ItemKind::kSwapIn, a},
                       {ItemKind::kRun, small_.id("sum")}};
  const std::vector<SideBySide> pairs =
      FindSideBySide(graph, schedule, kPlenty);
  // A copy may begin between a and b, but c waits for it to have ended.
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].first_end, 1);
  EXPECT_EQ(pairs[0].begin, 3);
  EXPECT_EQ(pairs[0].end, 3);
}

}  // namespace
}  // namespace sn_tf
