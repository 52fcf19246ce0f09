// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/evict.h"

#include <gtest/gtest.h>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/timeline.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

int64_t PeakOf(const MemoryGraph& graph, const Schedule& schedule) {
  return AnalyzeLiveness(graph, schedule).peak_bytes();
}

class EvictTest : public testing::Test {
 protected:
  explicit EvictTest(int blocks = 300)
      : graph_(ResidualNetwork(blocks)),
        route_(ScheduleOfRoute(BuildRoute(graph_))) {
    options_.allow_swap = false;
    options_.min_buffer_bytes = 1;
    options_.budget_bytes = PeakOf(graph_, route_) / 2;
  }

  Schedule Evicted() {
    return EvictUntilFits(graph_, CostModel(), options_, route_);
  }

  const MemoryGraph graph_;
  const Schedule route_;
  EvictOptions options_;
};

// Each round adds ops to all that the rounds before have added.
TEST_F(EvictTest, WhatWillNotBeMetIsNotPursued) {
  const size_t in_vain = Evicted().size();
  EXPECT_GT(in_vain, 10 * route_.size());
  options_.useless_above_bytes = options_.budget_bytes;
  const Schedule given_up = Evicted();
  EXPECT_GT(PeakOf(graph_, given_up), options_.budget_bytes);
  EXPECT_LT(given_up.size(), 2 * route_.size());
}

class EvictFromFewTest : public EvictTest {
 protected:
  EvictFromFewTest() : EvictTest(5) {}
};

TEST_F(EvictFromFewTest, WhatCanBeMetIs) {
  const Schedule met = Evicted();
  EXPECT_LE(PeakOf(graph_, met), options_.budget_bytes);
  options_.useless_above_bytes = options_.budget_bytes;
  EXPECT_EQ(Evicted(), met);
}

// Each round of greedy choices makes chains longer.
TEST(EvictResidualTest, EndsWhereOpsRunAgainForTooLong) {
  const MemoryGraph graph = ResidualNetwork(40);
  const Schedule route = ScheduleOfRoute(BuildRoute(graph));
  EvictOptions evict;
  evict.allow_swap = false;
  evict.budget_bytes = PeakOf(graph, route) / 3;
  const CostModel costs;
  const Schedule all = EvictUntilFits(graph, costs, evict, route);
  EXPECT_LE(PeakOf(graph, all), evict.budget_bytes);
  const double seconds = Simulate(graph, costs, all).added.recompute;
  evict.most_recompute_seconds = seconds / 2;
  const Schedule some = EvictUntilFits(graph, costs, evict, route);
  EXPECT_GT(PeakOf(graph, some), evict.budget_bytes);
  EXPECT_LT(Simulate(graph, costs, some).added.recompute, seconds);
}

}  // namespace
}  // namespace sn_tf
