// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/placement_check.h"

#include <gtest/gtest.h>

#include "grappler_pass/planner/route.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

constexpr int64_t kUnit = 64;

// x of two units and y of one; y's op takes a workspace of one.
MemoryGraph TwoBuffers(int64_t resident_units) {
  SmallGraph graph;
  graph.Add("x", {}, {2 * kUnit, true, 1, 0});
  graph.Add("y", {"x"}, {kUnit, true, 1, kUnit});
  return graph.Build(resident_units * kUnit);
}

bool Check(const MemoryGraph& graph, const Arena& arena) {
  return FindsPlaces(graph, ScheduleOfRoute(BuildRoute(graph)), arena);
}

TEST(PlacementCheckTest, CountsBuffersAndWorkspaces) {
  EXPECT_TRUE(Check(TwoBuffers(0), Arena(4 * kUnit)));
  EXPECT_FALSE(Check(TwoBuffers(0), Arena(3 * kUnit)));
}

TEST(PlacementCheckTest, ResidentBytesAreInTheArenaOrFindPlacesInIt) {
  Arena arena(5 * kUnit);
  EXPECT_TRUE(Check(TwoBuffers(1), arena));
  EXPECT_FALSE(Check(TwoBuffers(2), arena));
  ASSERT_EQ(arena.Allocate(kUnit), 0);
  EXPECT_TRUE(Check(TwoBuffers(1), arena));
}

TEST(PlacementCheckTest, FreeMemoryInPiecesMayNotDo) {
  Arena arena(7 * kUnit);
  for (int i = 0; i < 7; ++i) ASSERT_EQ(arena.Allocate(kUnit), i * kUnit);
  for (const int free : {0, 2, 4, 6}) arena.Free(free * kUnit);
  EXPECT_FALSE(Check(TwoBuffers(3), arena)) << "four units, one by one";
  arena.Free(kUnit);
  arena.Free(3 * kUnit);
  EXPECT_TRUE(Check(TwoBuffers(1), arena));
}

TEST(PlacementCheckTest, FreesWhatIsReadForTheLastTime) {
  const MemoryGraph graph = ThreeLayers().Build();
  const Schedule schedule = ScheduleOfRoute(BuildRoute(graph));
  int64_t smallest = 128;
  while (!FindsPlaces(graph, schedule, Arena(smallest))) smallest += 128;
  EXPECT_LT(smallest, 128 * static_cast<int64_t>(graph.buffers.size()));
}

}  // namespace
}  // namespace sn_tf
