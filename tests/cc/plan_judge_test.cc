// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/plan_judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "grappler_pass/planner/planner.h"
#include "grappler_pass/planner/random.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/timeline.h"
#include "grappler_pass/planner/verify.h"
#include "tests/cc/random_graph.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

PlannerOptions Options(const std::string& tiers) {
  PlannerOptions options;
  options.tiers = tiers;
  options.min_buffer_bytes = 1;
  return options;
}

// What a plan's items are replaced by, moved to, or left out of.
Schedule Disturbed(Schedule schedule, const MemoryGraph& graph,
                   Random* random) {
  const size_t from = static_cast<size_t>(random->Below(schedule.size()));
  const size_t to = static_cast<size_t>(random->Below(schedule.size()));
  const PlanItem item = schedule[from];
  const auto at = [&schedule](size_t p) {
    return schedule.begin() + static_cast<int64_t>(p);
  };
  switch (random->Below(3)) {
    case 0:
      schedule.erase(at(from));
      break;
    case 1:
      schedule.erase(at(from));
      schedule.insert(at(std::min(to, schedule.size())), item);
      break;
    default:
      schedule.insert(at(to),
                      {ItemKind::kRecompute, random->Below(graph.ops.size())});
  }
  return schedule;
}

bool HasRoute(const Schedule& schedule, const Schedule& route) {
  Schedule runs;
  for (const PlanItem& item : schedule) {
    if (item.kind == ItemKind::kRun) runs.push_back(item);
  }
  return runs == route;
}

// On plans, and on what is like one but may be none.
TEST(JudgeTest, SaysWhatTheOthersSay) {
  int valid = 0, invalid = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const MemoryGraph graph = RandomTrainingGraph(seed, 3 + seed % 10);
    const PlannerOptions options = Options(seed % 3 == 0 ? "none" : "host");
    const CostModel costs = CostsOf(options);
    const Schedule route = ScheduleOfRoute(BuildRoute(graph));
    const Schedule planned = MakeSmallestPlan(graph, options).schedule;
    Judge judge(graph, costs, route);
    Random random(seed);
    for (int i = 0; i < 200; ++i) {
      Schedule schedule = planned;
      for (int more = i % 4; more > 0; --more) {
        schedule = Disturbed(std::move(schedule), graph, &random);
      }
      if (!HasRoute(schedule, route)) continue;
      const Verdict verdict = judge.Of(schedule, 0);
      if (!verdict.valid) {
        ++invalid;
        continue;
      }
      ++valid;
      judge.Cleaned(0, &schedule);
      const Verdict cleaned = judge.Of(schedule, 0);
      ASSERT_TRUE(cleaned.valid);
      const MemoryPlan plan = PlanOfSchedule(graph, options, schedule);
      ASSERT_EQ(VerifyPlan(graph, plan), "") << "seed " << seed << "\n"
                                             << ScheduleToText(graph, schedule);
      EXPECT_EQ(cleaned.peak_bytes, plan.peak_bytes);
      EXPECT_NEAR(cleaned.added_seconds, plan.added.total(),
                  1e-9 * graph.StepSeconds());
      EXPECT_LE(cleaned.added_seconds,
                verdict.added_seconds + 1e-9 * graph.StepSeconds());
    }
  }
  EXPECT_GT(valid, 1000);
  EXPECT_GT(invalid, 1000);
}

TEST(JudgeTest, TellsWhereAndHowFarItIsAboveTheBudget) {
  const MemoryGraph graph = ThreeLayers().Build();
  const Schedule route = ScheduleOfRoute(BuildRoute(graph));
  const CostModel costs;
  const Liveness liveness = AnalyzeLiveness(graph, route);
  const Verdict verdict = Judge(graph, costs, route).Of(route, 300);
  EXPECT_TRUE(verdict.valid);
  EXPECT_EQ(verdict.peak_bytes, liveness.peak_bytes());
  EXPECT_EQ(verdict.peak, liveness.peak_position());
  double beyond = 0;
  for (const int64_t bytes : liveness.live_bytes) {
    beyond += static_cast<double>(std::max<int64_t>(0, bytes - 300));
  }
  EXPECT_GT(beyond, 0);
  EXPECT_DOUBLE_EQ(verdict.excess_bytes,
                   beyond / static_cast<double>(route.size()));
}

TEST(JudgeTest, WhatNothingNeedsGoesWithWhatServesIt) {
  SmallGraph small = ThreeLayers();
  const MemoryGraph graph = small.Build();
  const Schedule route = ScheduleOfRoute(BuildRoute(graph));
  const CostModel costs;
  Schedule schedule = route;
  // f2 is for f3 alone, which nothing reads any more.
  schedule.push_back({ItemKind::kRecompute, small.id("f2")});
  schedule.push_back({ItemKind::kRecompute, small.id("f3")});
  EXPECT_TRUE(Judge(graph, costs, route).Cleaned(0, &schedule).valid);
  EXPECT_EQ(schedule, route);
}

TEST(JudgeTest, NothingComesBetweenPartners) {
  SmallGraph small = ThreeLayers();
  small.op("f1").partner = small.id("f2");
  small.op("f2").partner = small.id("f1");
  const MemoryGraph graph = small.Build();
  const Schedule route = ScheduleOfRoute(BuildRoute(graph));
  const CostModel costs;
  Judge judge(graph, costs, route);
  Schedule schedule = route;
  const PlanItem again{ItemKind::kRecompute, small.id("f1")};
  const auto first = std::find(route.begin(), route.end(),
                               PlanItem{ItemKind::kRun, small.id("f1")}) -
                     route.begin();
  schedule.insert(schedule.begin() + first + 1, again);
  EXPECT_FALSE(judge.Of(schedule, 0).valid);
  schedule = route;
  schedule.insert(schedule.begin() + first + 2, again);
  EXPECT_TRUE(judge.Of(schedule, 0).valid);
}

}  // namespace
}  // namespace sn_tf
