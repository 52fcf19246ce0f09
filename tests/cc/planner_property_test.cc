// SPDX-License-Identifier: Apache-2.0
//
// What must hold for every graph, on seeded random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/planner.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/verify.h"
#include "tests/cc/random_graph.h"

namespace sn_tf {
namespace {

constexpr int kGraphs = 60;
// Of those that are planned. Plans of small ones are searched for at length;
// one of four is too large for that.
constexpr uint32_t kPlanned = 12;
constexpr int kLayersOfLarge = 30;

MemoryGraph PlannedGraph(uint32_t seed) {
  return RandomTrainingGraph(
      seed, seed % 4 == 3 ? kLayersOfLarge : static_cast<int>(3 + seed % 8));
}

class PlannerPropertyTest : public testing::TestWithParam<const char*> {
 protected:
  PlannerOptions Options(int64_t budget) const {
    PlannerOptions options;
    options.tiers = GetParam();
    options.budget_bytes = budget;
    options.min_buffer_bytes = 64;
    return options;
  }

  // From below the floor to above what the route needs.
  static std::vector<int64_t> Budgets(const MemoryGraph& graph) {
    const int64_t floor = graph.FloorBytes();
    const int64_t route =
        AnalyzeLiveness(graph, ScheduleOfRoute(BuildRoute(graph))).peak_bytes();
    std::vector<int64_t> budgets = {floor - 64, floor, route, route + 64};
    for (int part = 1; part < 6; ++part) {
      budgets.push_back(floor + (route - floor) * part / 6);
    }
    return budgets;
  }
};

TEST_P(PlannerPropertyTest, RouteIsATopologicalOrder) {
  for (uint32_t seed = 0; seed < kGraphs; ++seed) {
    const MemoryGraph graph = RandomTrainingGraph(seed, 3 + seed % 20);
    ASSERT_EQ(graph.Validate(), "");
    MemoryPlan plan;
    plan.schedule = ScheduleOfRoute(BuildRoute(graph));
    plan.peak_bytes = AnalyzeLiveness(graph, plan.schedule).peak_bytes();
    ASSERT_EQ(VerifyPlan(graph, plan), "") << "seed " << seed;
  }
}

TEST_P(PlannerPropertyTest, PlansVerifyAndKeepTheirBudget) {
  for (uint32_t seed = 0; seed < kPlanned; ++seed) {
    const MemoryGraph graph = PlannedGraph(seed);
    for (const int64_t budget : Budgets(graph)) {
      const MemoryPlan plan = MakePlan(graph, Options(budget));
      ASSERT_EQ(VerifyPlan(graph, plan), "")
          << "seed " << seed << " budget " << budget << "\n"
          << ScheduleToText(graph, plan.schedule);
      if (plan.feasible) {
        EXPECT_LE(plan.peak_bytes, budget);
        EXPECT_EQ(plan.unmet_bytes(), 0);
      } else {
        EXPECT_EQ(plan.unmet_bytes(), plan.peak_bytes - budget);
        EXPECT_GT(plan.unmet_bytes(), 0);
        EXPECT_EQ(plan.min_budget_bytes, plan.peak_bytes);
        EXPECT_GE(plan.peak_bytes, graph.FloorBytes());
      }
    }
  }
}

TEST_P(PlannerPropertyTest, TheSmallestBudgetIsFeasible) {
  for (uint32_t seed = 0; seed < kPlanned; ++seed) {
    const MemoryGraph graph = PlannedGraph(seed);
    const MemoryPlan small = MakePlan(graph, Options(1));
    ASSERT_FALSE(small.feasible);
    const MemoryPlan plan = MakePlan(graph, Options(small.min_budget_bytes));
    EXPECT_TRUE(plan.feasible) << "seed " << seed;
    const MemoryPlan below =
        MakePlan(graph, Options(small.min_budget_bytes - 1));
    EXPECT_FALSE(below.feasible) << "seed " << seed;
  }
}

TEST_P(PlannerPropertyTest, SameInputSamePlan) {
  for (uint32_t seed = 0; seed < kPlanned; seed += 5) {
    const MemoryGraph graph = PlannedGraph(seed);
    for (const int64_t budget : Budgets(graph)) {
      const MemoryPlan a = MakePlan(graph, Options(budget));
      const MemoryPlan b = MakePlan(graph, Options(budget));
      EXPECT_EQ(ScheduleToText(graph, a.schedule),
                ScheduleToText(graph, b.schedule));
      EXPECT_EQ(a.added.total(), b.added.total());
    }
  }
}

TEST_P(PlannerPropertyTest, EnoughBudgetMovesNothing) {
  for (uint32_t seed = 0; seed < kPlanned; seed += 3) {
    const MemoryGraph graph = PlannedGraph(seed);
    const Schedule route = ScheduleOfRoute(BuildRoute(graph));
    const int64_t peak = AnalyzeLiveness(graph, route).peak_bytes();
    EXPECT_EQ(MakePlan(graph, Options(peak)).schedule, route);
  }
}

TEST_P(PlannerPropertyTest, PartnersStayTogether) {
  for (uint32_t seed = 0; seed < kPlanned / 2; ++seed) {
    const MemoryGraph graph = PlannedGraph(seed);
    for (const int64_t budget : Budgets(graph)) {
      const Schedule schedule = MakePlan(graph, Options(budget)).schedule;
      for (size_t p = 0; p < schedule.size(); ++p) {
        if (schedule[p].kind != ItemKind::kRun) continue;
        const OpId partner = graph.ops[schedule[p].id].partner;
        if (partner == kNone) continue;
        const PlanItem other{ItemKind::kRun, partner};
        const bool before = p > 0 && schedule[p - 1] == other;
        const bool after = p + 1 < schedule.size() && schedule[p + 1] == other;
        EXPECT_TRUE(before || after) << "seed " << seed;
      }
    }
  }
}

TEST_P(PlannerPropertyTest, ALargerBudgetIsNotSlower) {
  for (const uint32_t seed : {1, 4}) {
    const MemoryGraph graph = PlannedGraph(seed);
    const int64_t floor = graph.FloorBytes();
    const int64_t route =
        AnalyzeLiveness(graph, ScheduleOfRoute(BuildRoute(graph))).peak_bytes();
    double most = 0;
    bool feasible = true;
    int plans = 0;
    for (int part = 16; part >= 0; --part) {
      const MemoryPlan plan =
          MakePlan(graph, Options(floor + (route - floor) * part / 16));
      EXPECT_LE(plan.feasible, feasible) << "seed " << seed;
      feasible = plan.feasible;
      if (!feasible) continue;
      EXPECT_GE(plan.added.total(), most - 1e-8 * plan.step_seconds)
          << "seed " << seed << " part " << part;
      most = plan.added.total();
      ++plans;
    }
    EXPECT_GT(plans, 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, PlannerPropertyTest,
                         testing::Values("host", "none"));

}  // namespace
}  // namespace sn_tf
