// SPDX-License-Identifier: Apache-2.0
//
// Recomputation of segments, as the paper has it.
#include "grappler_pass/planner/segments.h"

#include <gtest/gtest.h>

#include <string>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/planner.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/verify.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

constexpr SmallGraph::Traits kLayer{100, true, 1, 0};

// Two convolutions, each with a normalization and activations behind it, and
// their gradients; every buffer of 100 bytes. The gradients of normalizations
// read what these read and wrote, others what the op itself has read.
SmallGraph TwoConvolutions(int activations = 1) {
  SmallGraph small;
  small.Add("in", {}, {100, false, 1, 0});
  std::string last = "in";
  const auto act = [](const std::string& layer, int i) {
    return "act" + layer + std::string(i, '+');
  };
  for (const std::string n : {"1", "2"}) {
    small.Add("conv" + n, {last}, kLayer);
    small.op("conv" + n).type = "Conv2D";
    small.Add("norm" + n, {"conv" + n}, kLayer);
    last = "norm" + n;
    for (int i = 0; i < activations; ++i) {
      small.Add(act(n, i), {last}, kLayer);
      last = act(n, i);
    }
  }
  small.Add("loss", {last}, kLayer);
  last = "loss";
  for (const std::string n : {"2", "1"}) {
    for (int i = activations; i-- > 0;) {
      small.Add("b_" + act(n, i), {act(n, i), last}, kLayer);
      last = "b_" + act(n, i);
    }
    small.Add("b_norm" + n, {"conv" + n, "norm" + n, last}, kLayer);
    const std::string read = n == "1" ? "in" : act("1", activations - 1);
    small.Add("b_conv" + n, {read, "b_norm" + n}, kLayer);
    last = "b_conv" + n;
  }
  return small;
}

Schedule Recomputed(const MemoryGraph& graph, SegmentRecompute recompute,
                    bool swap_checkpoints = false) {
  SegmentOptions options;
  options.recompute = recompute;
  options.swap_checkpoints = swap_checkpoints;
  return RecomputeSegments(graph, options, ScheduleOfRoute(BuildRoute(graph)));
}

// The items from the loss on.
std::string BehindLoss(const MemoryGraph& graph, const Schedule& schedule) {
  const std::string text = ScheduleToText(graph, schedule);
  return text.substr(text.find("run loss\n"));
}

TEST(SegmentsTest, SpeedCentricComputesASegmentOnceMore) {
  const MemoryGraph graph = TwoConvolutions().Build();
  EXPECT_EQ(
      BehindLoss(graph, Recomputed(graph, SegmentRecompute::kSpeedCentric)),
      "run loss\n"
      "run b_act2\n"
      "recompute norm2\n"
      "run b_norm2\n"
      "recompute norm1\n"
      "recompute act1\n"
      "run b_conv2\n"
      "run b_act1\n"
      "run b_norm1\n"
      "run b_conv1\n");
}

TEST(SegmentsTest, MemoryCentricComputesForEachOp) {
  const MemoryGraph graph = TwoConvolutions().Build();
  EXPECT_EQ(
      BehindLoss(graph, Recomputed(graph, SegmentRecompute::kMemoryCentric)),
      "run loss\n"
      "run b_act2\n"
      "recompute norm2\n"
      "run b_norm2\n"
      "recompute norm1\n"
      "recompute act1\n"
      "run b_conv2\n"
      "run b_act1\n"  // What the op before has read is still there.
      "recompute norm1\n"
      "run b_norm1\n"
      "run b_conv1\n");
}

TEST(SegmentsTest, CostAwareKeepsWhatTakesNoMoreThanTheLargestLayer) {
  // Of segment 2, what its last activation has written is read at once.
  const MemoryGraph graph = TwoConvolutions(4).Build();
  ASSERT_EQ(graph.FloorBytes(), 400);
  const auto behind = [&graph](SegmentRecompute recompute) {
    return BehindLoss(graph, Recomputed(graph, recompute));
  };
  const std::string speed = behind(SegmentRecompute::kSpeedCentric);
  const std::string memory = behind(SegmentRecompute::kMemoryCentric);
  const std::string mixed = behind(SegmentRecompute::kCostAware);
  const auto second = [](const std::string& text) {  // Of 400 bytes.
    return text.substr(0, text.find("run b_norm2\n"));
  };
  const auto first = [](const std::string& text) {  // Of 500 bytes.
    return text.substr(text.find("run b_norm2\n"));
  };
  EXPECT_EQ(second(mixed), second(speed));
  EXPECT_NE(second(mixed), second(memory));
  EXPECT_EQ(first(mixed), first(memory));
  EXPECT_NE(first(mixed), first(speed));
}

TEST(SegmentsTest, CheckpointsMayLeave) {
  const MemoryGraph graph = TwoConvolutions().Build();
  EXPECT_EQ(ScheduleToText(
                graph, Recomputed(graph, SegmentRecompute::kCostAware, true)),
            "run in\n"
            "swap_out in:0\n"
            "run conv1\n"
            "swap_wait in:0\n"
            "swap_out conv1:0\n"
            "run norm1\n"
            "swap_wait conv1:0\n"
            "run act1\n"
            "run conv2\n"
            "swap_out conv2:0\n"
            "run norm2\n"
            "swap_wait conv2:0\n"
            "run act2\n"
            "run loss\n"
            "run b_act2\n"
            "swap_in conv2:0\n"
            "recompute norm2\n"
            "run b_norm2\n"
            "swap_in conv1:0\n"
            "recompute norm1\n"
            "recompute act1\n"
            "run b_conv2\n"
            "run b_act1\n"
            "run b_norm1\n"
            "swap_in in:0\n"
            "run b_conv1\n");
}

TEST(SegmentsTest, WhatCannotBeComputedAnewWaits) {
  SmallGraph small = TwoConvolutions();
  small.op("norm1").pure = false;
  const MemoryGraph graph = small.Build();
  EXPECT_EQ(
      BehindLoss(graph, Recomputed(graph, SegmentRecompute::kSpeedCentric)),
      "run loss\n"
      "run b_act2\n"
      "recompute norm2\n"
      "run b_norm2\n"
      "recompute act1\n"
      "run b_conv2\n"
      "run b_act1\n"
      "run b_norm1\n"
      "run b_conv1\n");
}

TEST(SegmentsTest, SumsAreCheckpoints) {
  SmallGraph small = TwoConvolutions();
  small.op("norm1").type = "AddV2";  // Of one buffer: a bias, for instance.
  EXPECT_NE(
      ScheduleToText(small.Build(),
                     Recomputed(small.Build(), SegmentRecompute::kSpeedCentric))
          .find("recompute norm1"),
      std::string::npos);
  small.op("norm1").after.insert(small.op("norm1").after.begin(),
                                 small.id("in"));
  small.op("norm1").reads.insert(small.op("norm1").reads.begin(),
                                 small.buffer_id("in"));
  EXPECT_EQ(
      ScheduleToText(small.Build(),
                     Recomputed(small.Build(), SegmentRecompute::kSpeedCentric))
          .find("recompute norm1"),
      std::string::npos);
}

TEST(SegmentsTest, PoliciesPlanTheSameWhateverTheBudget) {
  const MemoryGraph graph = TwoConvolutions(4).Build();
  PlannerOptions options;
  options.min_buffer_bytes = 1;
  options.link_bandwidth_bytes_per_s = 100;
  int64_t before = MakePlan(graph, options).route_peak_bytes;
  for (const char* policy : {"speed_centric", "memory_centric"}) {
    options.policy = policy;
    options.budget_bytes = 10'000;
    const MemoryPlan plan = MakePlan(graph, options);
    EXPECT_TRUE(plan.feasible);
    EXPECT_EQ(VerifyPlan(graph, plan), "");
    EXPECT_LT(plan.peak_bytes, before) << policy;
    before = plan.peak_bytes;
    EXPECT_EQ(plan.min_budget_bytes, plan.peak_bytes);
    options.budget_bytes = plan.peak_bytes - 1;
    const MemoryPlan unmet = MakePlan(graph, options);
    EXPECT_FALSE(unmet.feasible);
    EXPECT_EQ(unmet.schedule, plan.schedule);
  }
  options.policy = "cost_aware";
  const MemoryPlan cost_aware = MakePlan(graph, options);
  options.policy = "superneurons";
  EXPECT_LT(MakePlan(graph, options).peak_bytes, cost_aware.peak_bytes);
  options.tiers = "none";
  EXPECT_EQ(MakePlan(graph, options).schedule, cost_aware.schedule);
}

}  // namespace
}  // namespace sn_tf
