// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/rematerialize.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/planner.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/timeline.h"
#include "grappler_pass/planner/verify.h"
#include "tests/cc/random_graph.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

Schedule RouteOf(const MemoryGraph& graph) {
  return ScheduleOfRoute(BuildRoute(graph));
}

int64_t PeakOf(const MemoryGraph& graph, const Schedule& schedule) {
  return AnalyzeLiveness(graph, schedule).peak_bytes();
}

TEST(RematerializeTest, WhatFitsStays) {
  const MemoryGraph graph = ResidualNetwork(4);
  const Schedule route = RouteOf(graph);
  EXPECT_EQ(Rematerialize(graph, {PeakOf(graph, route), 1}, route), route);
}

TEST(RematerializeTest, TheCheapestIsComputedAnew) {
  const MemoryGraph graph = ResidualNetwork(2);
  const Schedule route = RouteOf(graph);
  const Schedule schedule =
      Rematerialize(graph, {PeakOf(graph, route) - 1, 1}, route);
  EXPECT_LE(PeakOf(graph, schedule), PeakOf(graph, route) - 1);
  // Of what is there still: the block's input and act0.
  const std::string text = ScheduleToText(graph, schedule);
  EXPECT_NE(text.find("recompute sum0\nrun b_filter1\n"), std::string::npos)
      << text;
  EXPECT_EQ(schedule.size(), route.size() + 1);
}

// Deep networks, in which what waits is computed from what waits, all the way.
TEST(RematerializeTest, DeepNetworksTakeLittleMoreTime) {
  for (const int blocks : {20, 200, 1000}) {
    const MemoryGraph graph = ResidualNetwork(blocks);
    const Schedule route = RouteOf(graph);
    const double step = graph.StepSeconds();
    const int64_t peak = PeakOf(graph, route);
    for (const auto& [share, most] :
         {std::pair(0.7, 0.07), std::pair(0.5, 0.2), std::pair(0.35, 0.3)}) {
      const auto budget = static_cast<int64_t>(share * peak);
      const Schedule schedule =
          FastestRematerialization(graph, budget, 1, route);
      ASSERT_FALSE(schedule.empty()) << blocks << " " << share;
      EXPECT_LE(PeakOf(graph, schedule), budget);
      EXPECT_LE(Simulate(graph, CostModel(), schedule).added.recompute,
                most * step)
          << blocks << " " << share;
    }
  }
}

TEST(RematerializeTest, TheSmallestBudgetIsMet) {
  const MemoryGraph graph = ResidualNetwork(50);
  const Schedule route = RouteOf(graph);
  const int64_t budget = SmallestRematerializationBudget(graph, 1, route);
  EXPECT_LT(budget, PeakOf(graph, route) / 4);
  EXPECT_GE(budget, graph.FloorBytes());
  const Schedule schedule = FastestRematerialization(graph, budget, 1, route);
  ASSERT_FALSE(schedule.empty());
  EXPECT_LE(PeakOf(graph, schedule), budget);
  EXPECT_TRUE(FastestRematerialization(graph, graph.FloorBytes() - 1, 1, route)
                  .empty());
}

TEST(RematerializeTest, PlansWithoutTiersAreOfThem) {
  const MemoryGraph graph = ResidualNetwork(100);
  PlannerOptions options;
  options.tiers = "none";
  options.min_buffer_bytes = 1;
  options.budget_bytes = PeakOf(graph, RouteOf(graph)) / 3;
  const MemoryPlan plan = MakePlan(graph, options);
  EXPECT_TRUE(plan.feasible);
  EXPECT_EQ(VerifyPlan(graph, plan), "");
  EXPECT_LT(plan.added.total(), 0.3 * plan.step_seconds);
  options.budget_bytes = plan.min_budget_bytes;
  EXPECT_TRUE(MakePlan(graph, options).feasible);
}

// What an impure op has written is not there for long, and variables are
// overwritten: what is computed from these comes back before, or stays.
TEST(RematerializeTest, RandomGraphs) {
  int met = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const MemoryGraph graph = RandomTrainingGraph(seed, 3 + seed % 10);
    const Schedule route = RouteOf(graph);
    const int64_t peak = PeakOf(graph, route);
    const int64_t floor = graph.FloorBytes();
    for (const int quarter : {1, 2, 3}) {
      const int64_t budget = floor + (peak - floor) * quarter / 4;
      const Schedule schedule =
          FastestRematerialization(graph, budget, 1, route);
      if (schedule.empty()) continue;
      ++met;
      const MemoryPlan plan = PlanOfSchedule(graph, PlannerOptions(), schedule);
      ASSERT_EQ(VerifyPlan(graph, plan), "") << "seed " << seed;
      ASSERT_LE(plan.peak_bytes, budget) << "seed " << seed;
    }
  }
  EXPECT_GT(met, 300);
}

}  // namespace
}  // namespace sn_tf
