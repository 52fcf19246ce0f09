// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/overlap.h"

#include <gtest/gtest.h>

#include <string>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/schedule_edit.h"
#include "grappler_pass/planner/timeline.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

// `in` is read first and last; ops of one second run meanwhile.
class OverlapTest : public testing::Test {
 protected:
  OverlapTest() {
    small_.Add("in", {}, {100});
    small_.Add("s1", {"in"}, {10});
    small_.Add("s2", {"s1"}, {10});
    small_.Add("s3", {"s2"}, {10});
    small_.Add("s4", {"s3"}, {10});
    small_.Add("end", {"s4", "in"}, {0});
    graph_ = small_.Build();
    const BufferId in = small_.buffer_id("in");
    for (const char* const op : {"in", "s1", "s2", "s3", "s4", "end"}) {
      if (op == std::string("end")) Push(ItemKind::kSwapIn, in);
      Push(ItemKind::kRun, small_.id(op));
      if (op == std::string("in")) Push(ItemKind::kSwapOut, in);
      if (op == std::string("s1")) Push(ItemKind::kSwapWait, in);
    }
    costs_.link_bytes_per_s = 100;
    costs_.interference = 0;
  }

  void Push(ItemKind kind, int32_t id) { tight_.push_back({kind, id}); }

  std::string Moved(int64_t budget) const {
    return ScheduleToText(graph_,
                          OverlapCopies(graph_, costs_, budget, tight_));
  }

  double StallsOf(const Schedule& schedule) const {
    return Simulate(graph_, costs_, schedule).added.stalls;
  }

  SmallGraph small_;
  MemoryGraph graph_;
  CostModel costs_;
  // The wait stands as early as it may, and the copy back as late.
  Schedule tight_;
};

TEST_F(OverlapTest, CopiesGetTwiceTheirTimeWhereThereIsRoom) {
  EXPECT_EQ(StallsOf(tight_), 1);
  EXPECT_EQ(Moved(1000),
            "run in\n"
            "swap_out in:0\n"
            "run s1\n"
            "run s2\n"
            "swap_wait in:0\n"
            "swap_in in:0\n"
            "run s3\n"
            "run s4\n"
            "run end\n");
}

TEST_F(OverlapTest, WhatWouldBeInTimeAnywayLeavesAPartOfTheBudgetFree) {
  // In time where it stands before s4, as 120 bytes allow; earlier as well.
  EXPECT_EQ(Moved(120),
            "run in\n"
            "swap_out in:0\n"
            "run s1\n"
            "run s2\n"
            "swap_wait in:0\n"
            "run s3\n"
            "swap_in in:0\n"
            "run s4\n"
            "run end\n");
}

TEST_F(OverlapTest, WithoutRoomNothingMoves) {
  EXPECT_EQ(Moved(AnalyzeLiveness(graph_, tight_).peak_bytes()),
            ScheduleToText(graph_, tight_));
}

TEST_F(OverlapTest, OverASlowLinkACopyBeginsAsSoonAsItsBufferHasLeft) {
  costs_.link_bytes_per_s = 100. / 3;
  EXPECT_EQ(StallsOf(tight_), 5);  // Two for the wait, three for the copy.
  const Schedule moved = OverlapCopies(graph_, costs_, 1000, tight_);
  // Six seconds of copies, behind all but the first of five seconds of ops.
  EXPECT_EQ(StallsOf(moved), 2);
}

TEST(OverlapOfLayersTest, CopiesMoveAwayFromTheirDeadlines) {
  SmallGraph small = ThreeLayers();
  const MemoryGraph graph = small.Build();
  const BufferId in = small.buffer_id("in");
  Schedule tight = ScheduleOfRoute(BuildRoute(graph));
  tight.insert(tight.end() - 1, {ItemKind::kSwapIn, in});
  tight.insert(tight.begin() + 2, {ItemKind::kSwapWait, in});
  tight.insert(tight.begin() + 1, {ItemKind::kSwapOut, in});
  CostModel costs;
  costs.link_bytes_per_s = 100;
  costs.interference = 0;
  // The copy back takes one second and stands directly before its use.
  EXPECT_EQ(Simulate(graph, costs, tight).added.total(), 1);
  const Schedule moved = OverlapCopies(graph, costs, 500, tight);
  EXPECT_EQ(Simulate(graph, costs, moved).added.total(), 0);
  EXPECT_LE(AnalyzeLiveness(graph, moved).peak_bytes(), 500);
  // As well without more memory than before.
  const int64_t peak = AnalyzeLiveness(graph, tight).peak_bytes();
  const Schedule within = OverlapCopies(graph, costs, peak, tight);
  EXPECT_EQ(Simulate(graph, costs, within).added.total(), 0);
  EXPECT_LE(AnalyzeLiveness(graph, within).peak_bytes(), peak);
}

TEST_F(OverlapTest, WhatLeavesAndComesBackBetweenPartnersDoesSoBehindBoth) {
  graph_.ops[small_.id("s2")].partner = small_.id("s3");
  graph_.ops[small_.id("s3")].partner = small_.id("s2");
  EXPECT_EQ(Moved(1000),
            "run in\n"
            "swap_out in:0\n"
            "run s1\n"
            "run s2\n"
            "run s3\n"
            "swap_wait in:0\n"
            "swap_in in:0\n"
            "run s4\n"
            "run end\n");
}

TEST(OverlapOfPartnersTest, WhatTheFirstReadsComesBackAgainBehindBoth) {
  SmallGraph small;
  small.Add("in", {}, {100});
  small.Add("first", {"in"}, {100});
  small.Add("second", {}, {100});
  small.Add("end", {"in", "first", "second"}, {});
  small.op("first").partner = small.id("second");
  small.op("second").partner = small.id("first");
  const MemoryGraph graph = small.Build();
  const BufferId in = small.buffer_id("in");
  const Schedule schedule = {{ItemKind::kRun, small.id("in")},
                             {ItemKind::kSwapOut, in},
                             {ItemKind::kSwapWait, in},
                             {ItemKind::kSwapIn, in},
                             {ItemKind::kRun, small.id("first")},
                             {ItemKind::kSwapIn, in},
                             {ItemKind::kRun, small.id("second")},
                             {ItemKind::kRun, small.id("end")}};
  EXPECT_EQ(ScheduleToText(graph, KeepPartnersTogether(graph, schedule)),
            "run in\n"
            "swap_out in:0\n"
            "swap_wait in:0\n"
            "swap_in in:0\n"
            "run first\n"
            "run second\n"
            "swap_in in:0\n"
            "run end\n");
}

TEST_F(OverlapTest, NothingIsWaitedForBetweenPartners) {
  SmallGraph small;
  small.Add("in", {}, {100});
  small.Add("s1", {"in"}, {10});
  small.Add("first", {"s1"}, {10});
  small.Add("second", {"first"}, {10, true, 1, 100});
  small.Add("s3", {"second"}, {10});
  small.Add("s4", {"s3"}, {10});
  small.Add("end", {"s4", "in"}, {0});
  small.op("first").partner = small.id("second");
  small.op("second").partner = small.id("first");
  const MemoryGraph graph = small.Build();
  const BufferId in = small.buffer_id("in");
  const Schedule tight = {{ItemKind::kRun, small.id("in")},
                          {ItemKind::kSwapOut, in},
                          {ItemKind::kRun, small.id("s1")},
                          {ItemKind::kSwapWait, in},
                          {ItemKind::kRun, small.id("first")},
                          {ItemKind::kRun, small.id("second")},
                          {ItemKind::kRun, small.id("s3")},
                          {ItemKind::kRun, small.id("s4")},
                          {ItemKind::kSwapIn, in},
                          {ItemKind::kRun, small.id("end")}};
  // `second` leaves no room for `in`, `first` would.
  EXPECT_EQ(ScheduleToText(graph, OverlapCopies(graph, costs_, 120, tight)),
            "run in\n"
            "swap_out in:0\n"
            "run s1\n"
            "swap_wait in:0\n"
            "run first\n"
            "run second\n"
            "run s3\n"
            "swap_in in:0\n"
            "run s4\n"
            "run end\n");
}

TEST_F(OverlapTest, ATimelineSaysWhatItsSecondsAreMadeOf) {
  Schedule schedule = tight_;
  schedule.insert(schedule.end() - 1, {ItemKind::kRecompute, small_.id("s1")});
  costs_.interference = 0.5;
  costs_.exposed = 0.25;
  const Timeline timeline = Simulate(graph_, costs_, schedule);
  EXPECT_EQ(timeline.added.recompute, 1);
  EXPECT_EQ(timeline.added.stalls, 1);
  // Half a second at most, twice, and a quarter of a second each.
  EXPECT_NEAR(timeline.added.interference, 0.5, 1e-6);
  EXPECT_EQ(timeline.seconds, 8);
  EXPECT_NEAR(timeline.added.total(), 2.5, 1e-6);
  ASSERT_EQ(timeline.start.size(), schedule.size());
  EXPECT_EQ(timeline.start.back(), 7);
}

}  // namespace
}  // namespace sn_tf
