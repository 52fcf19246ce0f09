// SPDX-License-Identifier: Apache-2.0
//
// What is written in place, in everything that counts memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cc/core/arena.h"
#include "grappler_pass/planner/evict.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/placement_check.h"
#include "grappler_pass/planner/planner.h"
#include "grappler_pass/planner/rematerialize.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/verify.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

constexpr int64_t kUnit = 64;

// a -> b -> c -> d of one unit each; each may be written over the one before.
SmallGraph Chain() {
  SmallGraph graph;
  const SmallGraph::Traits unit = {kUnit, true, 1, 0};
  graph.Add("a", {}, unit);
  graph.Add("b", {"a"}, unit);
  graph.Add("c", {"b"}, unit);
  graph.Add("d", {"c"}, unit);
  graph.WriteInPlace("b", {"a"});
  graph.WriteInPlace("c", {"b"});
  graph.WriteInPlace("d", {"c"});
  return graph;
}

Schedule RouteOf(const MemoryGraph& graph) {
  return ScheduleOfRoute(BuildRoute(graph));
}

std::vector<int64_t> LiveUnits(const MemoryGraph& graph,
                               const Schedule& schedule) {
  std::vector<int64_t> units;
  for (const int64_t bytes : AnalyzeLiveness(graph, schedule).live_bytes) {
    units.push_back(bytes / kUnit);
  }
  return units;
}

void ExpectVerified(const MemoryGraph& graph, const Schedule& schedule) {
  MemoryPlan plan;
  plan.schedule = schedule;
  plan.peak_bytes = AnalyzeLiveness(graph, schedule).peak_bytes();
  EXPECT_EQ(VerifyPlan(graph, plan), "");
}

TEST(InPlaceTest, AChainNeedsTheMemoryOfOneBuffer) {
  const MemoryGraph graph = Chain().Build();
  ASSERT_EQ(graph.Validate(), "");
  const Schedule route = RouteOf(graph);
  EXPECT_EQ(LiveUnits(graph, route), (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(graph.FloorBytes(), kUnit);
  EXPECT_TRUE(FindsPlaces(graph, route, Arena(kUnit)));
  ExpectVerified(graph, route);
}

TEST(InPlaceTest, WhatIsReadLaterIsNotWrittenOver) {
  SmallGraph small = Chain();
  small.Add("last", {"b", "d"}, {0, true, 1, 0});
  const MemoryGraph graph = small.Build();
  const Schedule route = RouteOf(graph);
  // c has to stand beside b.
  EXPECT_EQ(LiveUnits(graph, route), (std::vector<int64_t>{1, 1, 2, 2, 2}));
  EXPECT_FALSE(FindsPlaces(graph, route, Arena(kUnit)));
  EXPECT_TRUE(FindsPlaces(graph, route, Arena(2 * kUnit)));
  ExpectVerified(graph, route);
}

// It took the one or the other: neither alone is sure to do.
TEST(InPlaceTest, AllThatMayHaveBeenWrittenOverMustBeFree) {
  for (const bool both_end : {true, false}) {
    SmallGraph small;
    const SmallGraph::Traits unit = {kUnit, true, 1, 0};
    small.Add("a", {}, unit);
    small.Add("b", {}, unit);
    small.Add("sum", {"a", "b"}, unit);
    small.WriteInPlace("sum", {"a", "b"});
    std::vector<std::string> reads = {"sum"};
    if (!both_end) reads.emplace_back("a");
    small.Add("last", reads, {0, true, 1, 0});
    const MemoryGraph graph = small.Build();
    const Schedule route = RouteOf(graph);
    EXPECT_EQ(LiveUnits(graph, route)[2], both_end ? 2 : 3);
    ExpectVerified(graph, route);
  }
}

TEST(InPlaceTest, WhatHasACopyIsHeldByIt) {
  SmallGraph small = Chain();
  small.Add("last", {"a", "d"}, {0, true, 1, 0});
  const MemoryGraph graph = small.Build();
  const BufferId a = small.buffer_id("a");
  const auto run = [&](const char* name) {
    return PlanItem{ItemKind::kRun, small.id(name)};
  };
  const Schedule schedule = {run("a"),
                             {ItemKind::kSwapOut, a},
                             run("b"),
                             {ItemKind::kSwapWait, a},
                             run("c"),
                             run("d"),
                             {ItemKind::kSwapIn, a},
                             run("last")};
  // The copy refers to a until it is waited for, so that b stands beside it.
  EXPECT_EQ(LiveUnits(graph, schedule),
            (std::vector<int64_t>{1, 1, 2, 1, 1, 1, 2, 2}));
  ExpectVerified(graph, schedule);
}

// b, computed again, would no longer be written over where it is kept instead.
TEST(InPlaceTest, KeepingCountsWhatCannotBeWrittenOverThen) {
  SmallGraph small = Chain();
  small.Add("last", {"a", "b", "d"}, {0, true, 1, 0});
  small.op("c").workspace_bytes = kUnit;
  const MemoryGraph graph = small.Build();
  const auto item = [&](ItemKind kind, const char* name) {
    return PlanItem{kind, small.id(name)};
  };
  const Schedule again = {
      item(ItemKind::kRun, "a"),       item(ItemKind::kRun, "b"),
      item(ItemKind::kRun, "c"),       item(ItemKind::kRun, "d"),
      item(ItemKind::kRecompute, "b"), item(ItemKind::kRun, "last")};
  ASSERT_EQ(LiveUnits(graph, again), (std::vector<int64_t>{1, 2, 3, 2, 3, 3}));
  ExpectVerified(graph, again);
  const CostModel costs;
  EXPECT_EQ(RestoreWhereFits(graph, costs, 3 * kUnit, again), again);
  EXPECT_EQ(RestoreWhereFits(graph, costs, 4 * kUnit, again), RouteOf(graph));
}

// `a` waits; the others stand in one place in turn, so that nothing is dropped.
TEST(InPlaceTest, RematerializationCountsIt) {
  SmallGraph small;
  const SmallGraph::Traits unit = {kUnit, true, 1, 0};
  small.Add("a", {}, unit);
  small.Add("b", {"a"}, unit);
  small.Add("c", {"b"}, unit);
  small.WriteInPlace("c", {"b"});
  small.Add("d", {"c"}, unit);
  small.WriteInPlace("d", {"c"});
  small.Add("last", {"a", "d"}, {0, true, 1, 0});
  const MemoryGraph graph = small.Build();
  const Schedule route = RouteOf(graph);
  EXPECT_EQ(AnalyzeLiveness(graph, route).peak_bytes(), 2 * kUnit);
  EXPECT_EQ(FastestRematerialization(graph, 2 * kUnit, 1, route), route);
}

}  // namespace
}  // namespace sn_tf
