// SPDX-License-Identifier: Apache-2.0
//
// The planner's policies, and when what a plan moves leaves.
#include <gtest/gtest.h>

#include <algorithm>

#include "grappler_pass/planner/planner.h"
#include "grappler_pass/planner/verify.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

PlannerOptions Budget(int64_t bytes) {
  PlannerOptions options;
  options.budget_bytes = bytes;
  options.tiers = "host";
  options.min_buffer_bytes = 1;
  options.link_bandwidth_bytes_per_s = 100;  // A buffer a second.
  return options;
}

int64_t CountKind(const MemoryPlan& plan, ItemKind kind) {
  return std::count_if(
      plan.schedule.begin(), plan.schedule.end(),
      [kind](const PlanItem& item) { return item.kind == kind; });
}

TEST(PolicyTest, SwapRecomputesNothing) {
  SmallGraph small = ThreeLayers();
  const MemoryGraph graph = small.Build();
  PlannerOptions options = Budget(400);
  options.link_bandwidth_bytes_per_s = 1;  // Recomputation costs far less.
  const MemoryPlan both = MakePlan(graph, options);
  EXPECT_EQ(CountKind(both, ItemKind::kSwapIn), 0);
  EXPECT_GT(CountKind(both, ItemKind::kRecompute), 0);
  options.policy = "swap";
  const MemoryPlan swaps = MakePlan(graph, options);
  EXPECT_TRUE(swaps.feasible);
  EXPECT_GT(CountKind(swaps, ItemKind::kSwapIn), 0);
  EXPECT_EQ(CountKind(swaps, ItemKind::kRecompute), 0);
  EXPECT_EQ(swaps.departure, Departure::kAtOnce);
}

TEST(PolicyTest, VdnnAllSwapsWhateverTheBudget) {
  SmallGraph small = ThreeLayers();
  const MemoryGraph graph = small.Build();
  PlannerOptions options = Budget(1000);
  EXPECT_EQ(MakePlan(graph, options).schedule.size(), 8u);
  options.policy = "vdnn_all";
  const MemoryPlan plan = MakePlan(graph, options);
  EXPECT_TRUE(plan.feasible);
  EXPECT_EQ(plan.budget_bytes, 1000);
  EXPECT_LT(plan.peak_bytes, 500);
  EXPECT_EQ(VerifyPlan(graph, plan), "");
  EXPECT_GT(CountKind(plan, ItemKind::kSwapIn), 0);
  EXPECT_EQ(CountKind(plan, ItemKind::kRecompute), 0);
  options.budget_bytes = plan.peak_bytes - 1;
  EXPECT_FALSE(MakePlan(graph, options).feasible);
  // Without a budget there is nothing to move for.
  options.budget_bytes = 0;
  EXPECT_EQ(MakePlan(graph, options).schedule.size(), 8u);
}

// f2 is a convolution, f1 and f3 are not.
MemoryGraph OneConvolution(const char* type = "Conv2D") {
  SmallGraph small = ThreeLayers();
  small.op("f2").type = type;
  return small.Build();
}

std::string SwappedIn(const MemoryGraph& graph, const MemoryPlan& plan) {
  std::string names;
  for (const PlanItem& item : plan.schedule) {
    if (item.kind != ItemKind::kSwapIn) continue;
    names += graph.buffers[item.id].name + " ";
  }
  return names;
}

TEST(PolicyTest, VdnnConvMovesWhatConvolutionsRead) {
  const MemoryGraph graph = OneConvolution();
  PlannerOptions options = Budget(1000);
  options.policy = "vdnn_conv";
  const MemoryPlan plan = MakePlan(graph, options);
  EXPECT_TRUE(plan.feasible);
  EXPECT_EQ(SwappedIn(graph, plan), "f1:0 ");
  EXPECT_EQ(VerifyPlan(graph, plan), "");
  options.budget_bytes = plan.peak_bytes - 1;
  const MemoryPlan unmet = MakePlan(graph, options);
  EXPECT_FALSE(unmet.feasible);
  EXPECT_EQ(unmet.min_budget_bytes, plan.peak_bytes);
}

TEST(PolicyTest, VdnnConvKnowsConvolutionsOfAllKinds) {
  PlannerOptions options = Budget(1000);
  options.policy = "vdnn_conv";
  const auto swapped = [&options](const char* type) {
    const MemoryGraph graph = OneConvolution(type);
    return SwappedIn(graph, MakePlan(graph, options));
  };
  for (const char* type : {"Conv3D", "DepthwiseConv2dNative", "_FusedConv2D",
                           "_FusedDepthwiseConv2dNative"}) {
    EXPECT_EQ(swapped(type), "f1:0 ") << type;
  }
  for (const char* type : {"Conv2DBackpropFilter", "_FusedMatMul"}) {
    EXPECT_EQ(swapped(type), "") << type;
  }
}

TEST(PolicyTest, VdnnDynMovesTheLeastThatMeetsTheBudget) {
  const MemoryGraph graph = OneConvolution();
  PlannerOptions options = Budget(1000);
  const auto swapped = [&](int64_t budget) {
    options.policy = "vdnn_dyn";
    options.budget_bytes = budget;
    const MemoryPlan plan = MakePlan(graph, options);
    EXPECT_EQ(plan.budget_bytes, budget);
    EXPECT_EQ(plan.feasible, plan.peak_bytes <= budget);
    return SwappedIn(graph, plan);
  };
  const auto peak = [&](const char* policy) {
    options.policy = policy;
    options.budget_bytes = 1000;
    return MakePlan(graph, options).peak_bytes;
  };
  const int64_t all = peak("vdnn_all");
  const int64_t conv = peak("vdnn_conv");
  const int64_t nothing = peak("liveness");
  ASSERT_LT(all, conv);
  ASSERT_LT(conv, nothing);
  EXPECT_EQ(swapped(nothing), "");
  EXPECT_EQ(swapped(nothing - 1), "f1:0 ");
  EXPECT_EQ(swapped(conv), "f1:0 ");
  const std::string most = swapped(conv - 1);
  EXPECT_GT(most.size(), std::string("f1:0 ").size());
  EXPECT_EQ(swapped(all), most);
  EXPECT_EQ(swapped(all - 1), most) << "and is not feasible";
}

TEST(PolicyTest, WhatNeedNotLeaveWaitsInTheCache) {
  const MemoryGraph graph = ThreeLayers().Build();
  PlannerOptions options = Budget(400);
  // What a measured plan moves it has to move.
  EXPECT_EQ(MakePlan(graph, options).departure, Departure::kAtOnce);
  EXPECT_EQ(MakeSmallestPlan(graph, options).departure, Departure::kWhenNeeded);
  EXPECT_EQ(MakeAssumedPlan(graph, options, kNone).departure,
            Departure::kWhenNeeded);
  options.cache = "off";
  EXPECT_EQ(MakeSmallestPlan(graph, options).departure, Departure::kAtOnce);
  EXPECT_EQ(MakeAssumedPlan(graph, options, kNone).departure,
            Departure::kAtOnce);
}

TEST(PolicyTest, WhatHadBetterComeFromItsProducerLeavesLast) {
  PlannerOptions options = Budget(400);
  options.policy = "swap";
  SmallGraph small = ThreeLayers();
  const BufferId in = small.buffer_id("in");
  const PlanItem in_comes_back{ItemKind::kSwapIn, in};
  const auto swaps = [&in_comes_back](const MemoryPlan& plan) {
    return std::count(plan.schedule.begin(), plan.schedule.end(),
                      in_comes_back);
  };
  EXPECT_EQ(swaps(MakePlan(small.Build(), options)), 1);

  small.buffer("in").apart_seconds = 10;
  const MemoryPlan other = MakePlan(small.Build(), options);
  EXPECT_TRUE(other.feasible);
  EXPECT_EQ(swaps(other), 0);
  EXPECT_EQ(other.added.apart, 0);

  // Where it cannot be avoided it is a part of the cost.
  options.budget_bytes = MakeSmallestPlan(small.Build(), options).peak_bytes;
  const MemoryPlan smallest = MakePlan(small.Build(), options);
  EXPECT_EQ(swaps(smallest), 1);
  EXPECT_EQ(smallest.added.apart, 10);
}

}  // namespace
}  // namespace sn_tf
