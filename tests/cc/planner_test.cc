// SPDX-License-Identifier: Apache-2.0
//
// The planner's parts on graphs whose answers are worked out by hand.
#include "grappler_pass/planner/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "grappler_pass/planner/evict.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/verify.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

PlannerOptions Budget(int64_t bytes, const char* tiers = "host") {
  PlannerOptions options;
  options.budget_bytes = bytes;
  options.tiers = tiers;
  options.min_buffer_bytes = 1;
  options.link_bandwidth_bytes_per_s = 100;  // A buffer a second.
  return options;
}

TEST(MemoryGraphTest, FloorIsResidentAndLargestLayer) {
  SmallGraph small = ThreeLayers();
  small.op("f2").workspace_bytes = 250;
  const MemoryGraph graph = small.Build(1000);
  EXPECT_EQ(graph.LayerBytes(small.id("f2")), 100 + 100 + 250);
  EXPECT_EQ(graph.LayerBytes(small.id("b3")), 300);
  EXPECT_EQ(graph.LargestLayer(), small.id("f2"));
  EXPECT_EQ(graph.FloorBytes(), 1450);
}

TEST(MemoryGraphTest, ValidateNamesTheFault) {
  MemoryGraph graph = ThreeLayers().Build();
  EXPECT_EQ(graph.Validate(), "");
  graph.ops[2].reads = {1, 0};
  EXPECT_EQ(graph.Validate(), "op f2: bad `reads`");
}

TEST(LivenessTest, CountsWhatIsHeldAtEachOp) {
  const MemoryGraph graph = ThreeLayers().Build(7);
  const Liveness liveness =
      AnalyzeLiveness(graph, ScheduleOfRoute(BuildRoute(graph)));
  // in f1 f2 f3 loss b3 b2 b1
  const std::vector<int64_t> expected = {107, 207, 307, 407,
                                         507, 507, 407, 307};
  EXPECT_EQ(liveness.live_bytes, expected);
  EXPECT_EQ(liveness.peak_bytes(), 507);
}

TEST(LivenessTest, WhatIsResidentIsThePeakWhereNothingRuns) {
  const MemoryGraph graph = SmallGraph().Build(50);
  const MemoryPlan plan = MakePlan(graph, Budget(0));
  EXPECT_EQ(plan.peak_bytes, 50);
  EXPECT_EQ(plan.floor_bytes, 50);
  EXPECT_EQ(VerifyPlan(graph, plan), "");
  EXPECT_FALSE(MakePlan(graph, Budget(49)).feasible);
}

TEST(LivenessTest, ASwappedVersionIsHeldUntilItsWait) {
  SmallGraph small = ThreeLayers();
  const MemoryGraph graph = small.Build();
  const BufferId in = small.buffer_id("in");
  Schedule schedule = ScheduleOfRoute(BuildRoute(graph));
  schedule.insert(schedule.end() - 1, {ItemKind::kSwapIn, in});
  schedule.insert(schedule.begin() + 3, {ItemKind::kSwapWait, in});
  schedule.insert(schedule.begin() + 1, {ItemKind::kSwapOut, in});
  // in out f1 f2 wait f3 loss b3 b2 swap_in b1
  const std::vector<int64_t> expected = {100, 100, 200, 300, 200, 300,
                                         400, 400, 300, 200, 300};
  EXPECT_EQ(AnalyzeLiveness(graph, schedule).live_bytes, expected);
}

TEST(LivenessTest, VersionsOfABufferAreFoundByPosition) {
  SmallGraph small = ThreeLayers();
  const MemoryGraph graph = small.Build();
  const BufferId f1 = small.buffer_id("f1");
  Schedule schedule = ScheduleOfRoute(BuildRoute(graph));
  schedule.insert(schedule.begin() + 6, {ItemKind::kRecompute, small.id("f1")});
  // in f1 f2 f3 loss b3 f1 b2 b1
  const Liveness liveness = AnalyzeLiveness(graph, schedule);
  ASSERT_EQ(liveness.of_buffer[f1].size(), 2);
  const int32_t first = liveness.of_buffer[f1].front();
  const int32_t second = liveness.of_buffer[f1].back();
  EXPECT_EQ(liveness.versions[first].reads.back(), 2);
  EXPECT_EQ(liveness.versions[second].reads.front(), 7);
  EXPECT_EQ(liveness.LastBefore(f1, 1), kNone);
  EXPECT_EQ(liveness.LastBefore(f1, 2), first);
  EXPECT_EQ(liveness.LastBefore(f1, 6), first);
  EXPECT_EQ(liveness.LastBefore(f1, 7), second);
}

TEST(LivenessTest, AnOverwrittenViewCostsACopy) {
  SmallGraph small;
  small.Add("read", {}, {100, false, 1, 0});
  small.buffer("read").view = true;
  small.Add("use", {"read"}, {10, true, 1, 0});
  small.Add("write", {"use"}, {0, false, 1, 0});
  small.Add("late", {"read"}, {10, true, 1, 0});
  small.After("late", "write");
  small.buffer("read").overwriter = small.id("write");
  const MemoryGraph graph = small.Build();
  const Liveness liveness =
      AnalyzeLiveness(graph, ScheduleOfRoute({0, 1, 2, 3}));
  const std::vector<int64_t> expected = {0, 10, 110, 110};
  EXPECT_EQ(liveness.live_bytes, expected);
}

// Each step of an unrolled loop reads the variable anew.
TEST(LivenessTest, OverwrittenViewsOfAVariableShareOneCopy) {
  SmallGraph small;
  for (const char* read : {"read1", "read2", "read3"}) {
    small.Add(read, {}, {100, false, 1, 0});
    small.buffer(read).view = true;
  }
  small.Add("early", {"read1"}, {10, true, 1, 0});
  small.Add("write", {"early"}, {0, false, 1, 0});
  small.Add("late2", {"read2"}, {10, true, 1, 0});
  small.Add("late3", {"read3"}, {10, true, 1, 0});
  for (const char* read : {"read1", "read2", "read3"}) {
    small.buffer(read).overwriter = small.id("write");
  }
  small.After("late2", "write");
  small.After("late3", "late2");
  const MemoryGraph graph = small.Build();
  const Route route = {0, 1, 2, 3, 4, 5, 6};
  const Liveness liveness = AnalyzeLiveness(graph, ScheduleOfRoute(route));
  const std::vector<int64_t> expected = {0, 0, 0, 10, 110, 110, 110};
  EXPECT_EQ(liveness.live_bytes, expected);
  MemoryPlan plan;
  plan.schedule = ScheduleOfRoute(route);
  plan.peak_bytes = 110;
  EXPECT_EQ(VerifyPlan(graph, plan), "");
}

TEST(MakePlanTest, SwapsWhatTheBudgetAsksFor) {
  SmallGraph small = ThreeLayers();
  const MemoryGraph graph = small.Build();
  const MemoryPlan plan = MakePlan(graph, Budget(400));
  EXPECT_TRUE(plan.feasible);
  EXPECT_LE(plan.peak_bytes, 400);
  EXPECT_EQ(plan.route_peak_bytes, 500);
  EXPECT_EQ(plan.floor_bytes, 300);
  EXPECT_EQ(VerifyPlan(graph, plan), "");
  // One buffer out and in again is enough, and `in` is idle longest.
  EXPECT_EQ(std::count(plan.schedule.begin(), plan.schedule.end(),
                       PlanItem{ItemKind::kSwapIn, small.buffer_id("in")}),
            1);
  EXPECT_EQ(plan.schedule.size(), 8u + 3u);
}

TEST(MakePlanTest, RecomputesWhereThereIsNoTier) {
  SmallGraph small = ThreeLayers();
  const MemoryGraph graph = small.Build();
  const MemoryPlan plan = MakePlan(graph, Budget(400, "none"));
  EXPECT_TRUE(plan.feasible);
  EXPECT_EQ(VerifyPlan(graph, plan), "");
  // f1 alone covers both ops over the budget; `in` is not pure.
  EXPECT_EQ(std::count(plan.schedule.begin(), plan.schedule.end(),
                       PlanItem{ItemKind::kRecompute, small.id("f1")}),
            1);
  EXPECT_EQ(plan.added.total(), 1);
}

TEST(MakePlanTest, NothingImpureRunsTwice) {
  SmallGraph small = ThreeLayers();
  for (const char* name : {"f1", "f2", "f3"}) small.op(name).pure = false;
  const MemoryPlan plan = MakePlan(small.Build(), Budget(400, "none"));
  EXPECT_FALSE(plan.feasible);
  EXPECT_EQ(plan.min_budget_bytes, 500);
  EXPECT_EQ(plan.unmet_bytes(), 100);
}

TEST(MakePlanTest, AVariableOverwrittenMeanwhileIsNotReadAgain) {
  SmallGraph small;
  small.Add("read", {}, {50, false, 1, 0});
  small.buffer("read").view = true;
  small.Add("f1", {"read"}, {100, true, 1, 0});
  small.Add("f2", {"f1"}, {100, true, 1, 0});
  small.Add("f3", {"f2"}, {200, true, 1, 0});
  // No room for what f1 writes, so that it would have to run again behind.
  small.Add("write", {"f3"}, {0, false, 1, 100});
  small.Add("b1", {"f1"}, {100, true, 1, 0});
  small.After("b1", "write");
  const MemoryPlan kept = MakePlan(small.Build(), Budget(300, "none"));
  EXPECT_TRUE(kept.feasible);
  EXPECT_EQ(kept.route_peak_bytes, 400);
  small.buffer("read").overwriter = small.id("write");
  EXPECT_FALSE(MakePlan(small.Build(), Budget(300, "none")).feasible);
}

TEST(MakePlanTest, InfeasibleSaysByHowMuchAndWhere) {
  SmallGraph small = ThreeLayers();
  small.op("f2").workspace_bytes = 700;
  const MemoryPlan plan = MakePlan(small.Build(50), Budget(600));
  EXPECT_FALSE(plan.feasible);
  EXPECT_EQ(plan.limiting_op, small.id("f2"));
  EXPECT_EQ(plan.min_budget_bytes, 950);
  EXPECT_EQ(plan.unmet_bytes(), 350);
}

TEST(MakePlanTest, TheSmallestBudgetOfAFeasiblePlanIsMet) {
  SmallGraph small;
  small.Add("a", {}, {80, true, 1, 210});
  small.Add("b", {"a"}, {90, true, 1, 0});
  small.Add("c", {"a"}, {90, false, 1, 170});
  small.Add("d", {"b", "c"}, {100, false, 1, 30});
  const MemoryGraph graph = small.Build();
  const MemoryPlan plan = MakePlan(graph, Budget(429, "none"));
  ASSERT_TRUE(plan.feasible);
  // c with what it reads and writes, and no b; the floor.
  EXPECT_EQ(plan.min_budget_bytes, 340);
  EXPECT_TRUE(MakePlan(graph, Budget(340, "none")).feasible);
}

TEST(MakePlanTest, LivenessMovesNothing) {
  const MemoryGraph graph = ThreeLayers().Build();
  PlannerOptions options = Budget(300);
  options.policy = "liveness";
  const MemoryPlan plan = MakePlan(graph, options);
  EXPECT_EQ(plan.schedule, ScheduleOfRoute(BuildRoute(graph)));
  EXPECT_FALSE(plan.feasible);
}

TEST(MakePlanTest, ASmallExcessMovesASmallBuffer) {
  // Two layers' inputs wait for the way back.
  SmallGraph small;
  small.Add("large", {}, {100, false, 1, 0});
  small.Add("small", {"large"}, {20, false, 1, 0});
  small.Add("top", {"small"}, {50, false, 1, 0});
  small.Add("peak", {"top"}, {50, false, 1, 0});
  small.Add("back", {"peak", "small", "large"}, {10, false, 1, 0});
  const MemoryGraph graph = small.Build();
  const MemoryPlan plan = MakePlan(graph, Budget(210));
  EXPECT_EQ(plan.route_peak_bytes, 220);
  EXPECT_EQ(plan.peak_bytes, 200);
  EXPECT_TRUE(plan.feasible);
}

TEST(MakePlanTest, SmallBuffersStay) {
  PlannerOptions options = Budget(400);
  options.min_buffer_bytes = 101;
  EXPECT_FALSE(MakePlan(ThreeLayers().Build(), options).feasible);
}

TEST(RestoreTest, TakesBackWhatFits) {
  SmallGraph small = ThreeLayers();
  const MemoryGraph graph = small.Build();
  EvictOptions evict;
  evict.budget_bytes = 300;
  evict.min_buffer_bytes = 1;
  const CostModel costs;
  const Schedule route = ScheduleOfRoute(BuildRoute(graph));
  const Schedule small_schedule = EvictUntilFits(graph, costs, evict, route);
  EXPECT_LE(AnalyzeLiveness(graph, small_schedule).peak_bytes(), 300);
  EXPECT_EQ(RestoreWhereFits(graph, costs, 500, small_schedule), route);
}

class VerifyTest : public testing::Test {
 protected:
  void SetUp() override {
    plan_ = MakePlan(graph_, Budget(400));
    ASSERT_EQ(VerifyPlan(graph_, plan_), "");
  }

  size_t Find(ItemKind kind) const {
    for (size_t p = 0; p < plan_.schedule.size(); ++p) {
      if (plan_.schedule[p].kind == kind) return p;
    }
    return plan_.schedule.size();
  }

  std::string VerifyWithout(ItemKind kind) {
    plan_.schedule.erase(plan_.schedule.begin() + Find(kind));
    return VerifyPlan(graph_, plan_);
  }

  const MemoryGraph graph_ = ThreeLayers().Build();
  MemoryPlan plan_;
};

TEST_F(VerifyTest, MissesAnOp) { EXPECT_NE(VerifyWithout(ItemKind::kRun), ""); }

TEST_F(VerifyTest, MissesASwapOut) {
  EXPECT_NE(VerifyWithout(ItemKind::kSwapOut), "");
}

TEST_F(VerifyTest, MissesASwapIn) {
  EXPECT_NE(VerifyWithout(ItemKind::kSwapIn), "");
}

TEST_F(VerifyTest, MissesAWait) {
  EXPECT_NE(VerifyWithout(ItemKind::kSwapWait), "");
}

TEST_F(VerifyTest, AnOpTwice) {
  plan_.schedule.push_back({ItemKind::kRun, 3});
  EXPECT_NE(VerifyPlan(graph_, plan_), "");
}

TEST_F(VerifyTest, OpsOutOfOrder) {
  std::swap(plan_.schedule.front(), plan_.schedule.back());
  EXPECT_NE(VerifyPlan(graph_, plan_), "");
}

TEST_F(VerifyTest, ImpureRecomputation) {
  plan_.schedule.push_back({ItemKind::kRecompute, 0});
  EXPECT_NE(VerifyPlan(graph_, plan_), "");
}

TEST_F(VerifyTest, WrongPeak) {
  plan_.peak_bytes -= 1;
  EXPECT_NE(VerifyPlan(graph_, plan_), "");
}

TEST_F(VerifyTest, PeakAboveTheBudget) {
  plan_.budget_bytes = plan_.peak_bytes - 1;
  EXPECT_NE(VerifyPlan(graph_, plan_), "");
}

}  // namespace
}  // namespace sn_tf
