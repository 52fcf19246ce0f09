// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/route.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

ptrdiff_t At(const Route& route, OpId op) {
  return std::find(route.begin(), route.end(), op) - route.begin();
}

TEST(RouteTest, UpdatesFollowTheirGradients) {
  SmallGraph small = ThreeLayers();
  small.Add("a_update3", {"b3"}, {0, false, 1, 0});
  small.Add("z_update1", {"b1"}, {0, false, 1, 0});
  const MemoryGraph graph = small.Build();
  const Route route = BuildRoute(graph);
  const auto at = [&](const char* op) { return At(route, small.id(op)); };
  EXPECT_LT(at("a_update3"), at("b1"));
  EXPECT_EQ(at("z_update1"), 9);
}

TEST(RouteTest, WeightGradientsDoNotWaitForTheEndOfTheStep) {
  SmallGraph small = ThreeLayers();
  const std::vector<std::pair<std::string, std::string>> layers = {
      {"1", "b2"}, {"2", "b3"}, {"3", "loss"}};
  for (const auto& [layer, gradient] : layers) {
    small.Add("w" + layer, {gradient}, {100, true, 1, 0});
    small.Add("update" + layer, {"w" + layer}, {0, false, 1, 0});
  }
  small.Add("end", {}, {0, false, 1, 0});
  for (const auto& [layer, gradient] : layers) {
    small.After("end", "update" + layer);
  }
  const MemoryGraph graph = small.Build();
  const Route route = BuildRoute(graph);
  const auto at = [&](const char* op) { return At(route, small.id(op)); };
  EXPECT_LT(at("update3"), at("w2"));
  EXPECT_LT(at("update2"), at("w1"));
}

TEST(RouteTest, ReadersOfAVariableComeBeforeItsUpdate) {
  SmallGraph small;
  small.Add("read", {}, {100, false, 1, 0});
  small.buffer("read").view = true;
  small.Add("gradient", {}, {100, true, 1, 0});
  small.Add("a_update", {"gradient"}, {0, false, 1, 0});
  small.Add("z_reader", {"read", "gradient"}, {100, true, 1, 0});
  small.buffer("read").overwriter = small.id("a_update");
  small.op("a_update").soft_after = {small.id("z_reader")};
  const MemoryGraph graph = small.Build();
  const Route route = BuildRoute(graph);
  EXPECT_LT(At(route, small.id("z_reader")), At(route, small.id("a_update")));
}

// Two weights, each updated by two slots that move, and an end that waits for
// all of it.
TEST(RouteTest, FewVariablesAreInMemoryAtATime) {
  SmallGraph small;
  small.Add("end", {}, {0, false, 1, 0});
  for (const std::string weight : {"1", "2"}) {
    small.Add("gradient" + weight, {}, {100, true, 1, 0});
    for (const std::string& slot : {"m" + weight, "v" + weight}) {
      small.Add("in_" + slot, {}, {100, false, 1, 0});
      small.Add("new_" + slot, {"gradient" + weight, "in_" + slot},
                {0, false, 1, 0});
      small.Add("part_" + slot, {"in_" + slot}, {100, true, 1, 0});
      small.After("part_" + slot, "new_" + slot);
      small.Add("out_" + slot, {"in_" + slot}, {0, false, 1, 0});
      small.op("out_" + slot).type = "SnStateOut";
      small.After("out_" + slot, "part_" + slot);
      small.After("end", "new_" + slot);
    }
    small.Add("update" + weight, {"part_m" + weight, "part_v" + weight},
              {0, false, 1, 0});
    small.After("end", "update" + weight);
  }
  const Route route = BuildRoute(small.Build());
  const auto at = [&](const char* op) { return At(route, small.id(op)); };
  EXPECT_LT(at("out_m1"), at("in_m2"));
  EXPECT_LT(at("out_v1"), at("in_m2"));
  EXPECT_LT(at("update1"), at("in_v2"));
}

TEST(RouteTest, ACycleHasNone) {
  SmallGraph small = ThreeLayers();
  small.After("f1", "f3");
  EXPECT_TRUE(BuildRoute(small.Build()).empty());
}

}  // namespace
}  // namespace sn_tf
