// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/swap_across.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "grappler_pass/planner/evict.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/verify.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

Schedule AcrossOp(const MemoryGraph& graph, OpId op) {
  EvictOptions evict;
  evict.min_buffer_bytes = 1;
  return SwapAcross(graph, evict, ScheduleOfRoute(BuildRoute(graph)), op);
}

std::string Verify(const MemoryGraph& graph, const Schedule& schedule) {
  MemoryPlan plan;
  plan.schedule = schedule;
  plan.peak_bytes = AnalyzeLiveness(graph, schedule).peak_bytes();
  return VerifyPlan(graph, plan);
}

TEST(SwapAcrossTest, EmptiesWhatIsOnlyHeldMeanwhile) {
  SmallGraph small = ThreeLayers();
  const MemoryGraph graph = small.Build();
  const Schedule schedule = AcrossOp(graph, small.id("loss"));
  EXPECT_EQ(Verify(graph, schedule), "");
  const auto swaps_in = [&](const char* op) {
    return std::count(schedule.begin(), schedule.end(),
                      PlanItem{ItemKind::kSwapIn, small.buffer_id(op)});
  };
  EXPECT_EQ(swaps_in("in"), 1);
  EXPECT_EQ(swaps_in("f1"), 1);
  EXPECT_EQ(swaps_in("f2"), 1);
  EXPECT_EQ(swaps_in("loss"), 0) << "written there";
  // At `loss`, what it reads and writes.
  const auto at = std::find(schedule.begin(), schedule.end(),
                            PlanItem{ItemKind::kRun, small.id("loss")}) -
                  schedule.begin();
  EXPECT_EQ(AnalyzeLiveness(graph, schedule).live_bytes[at], 200);
}

TEST(SwapAcrossTest, NothingIsSwappedBetweenPartners) {
  SmallGraph small;
  small.Add("in", {}, {100, false, 1, 0});
  small.Add("first", {"in"}, {100, true, 1, 0});
  small.Add("second", {"in"}, {100, true, 1, 0});
  small.Add("end", {"first", "second", "in"}, {0, false, 1, 0});
  small.op("first").partner = small.id("second");
  small.op("second").partner = small.id("first");
  const MemoryGraph graph = small.Build();
  const Schedule schedule = AcrossOp(graph, small.id("first"));
  EXPECT_EQ(Verify(graph, schedule), "");
  EXPECT_EQ(std::count(schedule.begin(), schedule.end(),
                       PlanItem{ItemKind::kSwapIn, small.buffer_id("in")}),
            1);
}

}  // namespace
}  // namespace sn_tf
