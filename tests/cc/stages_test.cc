// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/planner.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/verify.h"
#include "tests/cc/random_graph.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

using Stages = std::vector<Position>;

// in f1 f2 f3 loss b3 b2 b1; 100 to 500 bytes, and down again.
class StagesTest : public testing::Test {
 protected:
  MemoryGraph graph_ = ThreeLayers().Build(7);
  Schedule route_ = ScheduleOfRoute(BuildRoute(graph_));
};

TEST_F(StagesTest, AStageTakesAllAtOnce) {
  // in to loss take 500; nothing fits beside that.
  EXPECT_EQ(DivideIntoStages(graph_, route_, 507), (Stages{0, 5, 6}));
  EXPECT_EQ(DivideIntoStages(graph_, route_, 807), Stages{0});
}

TEST_F(StagesTest, NoRoomMeansOneByOne) {
  EXPECT_EQ(DivideIntoStages(graph_, route_, 0),
            (Stages{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(StagesTest, PartnersAreInOneStage) {
  const OpId loss = route_[4].id;
  const OpId b3 = route_[5].id;
  graph_.ops[loss].partner = b3;
  graph_.ops[b3].partner = loss;
  EXPECT_EQ(DivideIntoStages(graph_, route_, 0), (Stages{0, 1, 2, 3, 4, 6, 7}));
}

TEST_F(StagesTest, WhatAWaitFreesIsFreeInTheNextStage) {
  const BufferId in = graph_.ops[route_[0].id].writes[0];
  route_.insert(route_.end() - 1, {ItemKind::kSwapIn, in});
  route_.insert(route_.begin() + 2, {ItemKind::kSwapWait, in});
  route_.insert(route_.begin() + 1, {ItemKind::kSwapOut, in});
  // in out f1 wait f2 f3 loss b3 b2 swap_in b1
  EXPECT_EQ(DivideIntoStages(graph_, route_, 307), (Stages{0, 5, 6, 7, 8, 9}));
}

class StagedPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    plan_ = MakePlan(graph_, {});
    ASSERT_EQ(plan_.stages, (Stages{0, 5, 6}));
    ASSERT_EQ(VerifyPlan(graph_, plan_), "");
  }

  const MemoryGraph graph_ = ThreeLayers().Build();
  MemoryPlan plan_;
};

TEST_F(StagedPlanTest, VerifyRefusesAStageThatMayPassThePeak) {
  plan_.stages = {0, 6};
  EXPECT_EQ(VerifyPlan(graph_, plan_),
            "position 5: the stage from 0 may pass the peak");
}

TEST_F(StagedPlanTest, VerifyRefusesStagesOutOfOrder) {
  plan_.stages = {0, 6, 5};
  EXPECT_NE(VerifyPlan(graph_, plan_), "");
  plan_.stages = {1, 5, 6};
  EXPECT_EQ(VerifyPlan(graph_, plan_), "position 0: no stage begins here");
}

TEST_F(StagedPlanTest, VerifyRefusesAStageThatBeginsWithAWait) {
  const BufferId in = graph_.ops[plan_.schedule[0].id].writes[0];
  plan_.schedule.insert(plan_.schedule.end() - 1, {ItemKind::kSwapIn, in});
  plan_.schedule.insert(plan_.schedule.begin() + 2, {ItemKind::kSwapWait, in});
  plan_.schedule.insert(plan_.schedule.begin() + 1, {ItemKind::kSwapOut, in});
  plan_.stages = {0, 3, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(VerifyPlan(graph_, plan_),
            "position 3: a stage begins with a wait");
}

bool MayTrade(const MemoryGraph& graph, const PlanItem& first,
              const PlanItem& second) {
  if (first.kind != ItemKind::kRun || second.kind != ItemKind::kRun) {
    return false;
  }
  const Op& later = graph.ops[second.id];
  const auto contains = [&first](const std::vector<OpId>& ops) {
    return std::find(ops.begin(), ops.end(), first.id) != ops.end();
  };
  return !contains(later.after) && !contains(later.soft_after) &&
         later.partner != first.id;
}

// Trades places of neighbours within a stage, again and again.
Schedule Shuffled(const MemoryGraph& graph, const MemoryPlan& plan,
                  std::mt19937* random) {
  Schedule schedule = plan.schedule;
  std::vector<bool> begins(schedule.size(), false);
  for (const Position p : plan.stages) begins[p] = true;
  for (int round = 0; round < 20; ++round) {
    for (size_t p = 1; p < schedule.size(); ++p) {
      if (!begins[p] && (*random)() % 2 == 0 &&
          MayTrade(graph, schedule[p - 1], schedule[p])) {
        std::swap(schedule[p - 1], schedule[p]);
      }
    }
  }
  return schedule;
}

TEST(StagesPropertyTest, NoOrderWithinTheStagesPassesThePeak) {
  int traded = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const MemoryGraph graph = RandomTrainingGraph(seed, 3 + seed % 20);
    const int64_t route =
        AnalyzeLiveness(graph, ScheduleOfRoute(BuildRoute(graph))).peak_bytes();
    for (const int64_t budget : {route, (graph.FloorBytes() + 3 * route) / 4}) {
      PlannerOptions options;
      options.budget_bytes = budget;
      options.min_buffer_bytes = 64;
      const MemoryPlan plan = MakePlan(graph, options);
      std::mt19937 random(seed);
      const Schedule shuffled = Shuffled(graph, plan, &random);
      traded += shuffled == plan.schedule ? 0 : 1;
      EXPECT_LE(AnalyzeLiveness(graph, shuffled).peak_bytes(), plan.peak_bytes)
          << "seed " << seed << " budget " << budget;
    }
  }
  EXPECT_GT(traded, 10);
}

}  // namespace
}  // namespace sn_tf
