// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/expected_peak.h"

#include <gtest/gtest.h>

#include "grappler_pass/planner/liveness.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

// `in` leaves after a second and is waited for behind s3; s2 is the largest.
class ExpectedPeakTest : public testing::Test {
 protected:
  ExpectedPeakTest() {
    small_.Add("in", {}, {100});
    small_.Add("s1", {"in"}, {10});
    small_.Add("s2", {"s1"}, {50});
    small_.Add("s3", {"s2"}, {10});
    small_.Add("end", {"s3", "in"}, {0});
    graph_ = small_.Build();
    const BufferId in = small_.buffer_id("in");
    schedule_ = {
        {ItemKind::kRun, small_.id("in")}, {ItemKind::kSwapOut, in},
        {ItemKind::kRun, small_.id("s1")}, {ItemKind::kRun, small_.id("s2")},
        {ItemKind::kRun, small_.id("s3")}, {ItemKind::kSwapWait, in},
        {ItemKind::kSwapIn, in},           {ItemKind::kRun, small_.id("end")}};
    costs_.interference = 0;
  }

  int64_t Expected(double link_bytes_per_s) {
    costs_.link_bytes_per_s = link_bytes_per_s;
    return ExpectedPeak(graph_, schedule_, Simulate(graph_, costs_, schedule_));
  }

  SmallGraph small_;
  MemoryGraph graph_;
  CostModel costs_;
  Schedule schedule_;
};

TEST_F(ExpectedPeakTest, MemoryIsFreeWhenTheCopyHasEnded) {
  EXPECT_EQ(AnalyzeLiveness(graph_, schedule_).peak_bytes(), 160);
  // Gone before s2 runs: the peak is where s1 reads it.
  EXPECT_EQ(Expected(100), 110);
  // While s2 runs it is still there.
  EXPECT_EQ(Expected(60), 160);
}

TEST_F(ExpectedPeakTest, NeverAboveThePeakOfTheSchedule) {
  EXPECT_EQ(Expected(1), 160);
  schedule_ = {{ItemKind::kRun, small_.id("in")},
               {ItemKind::kRun, small_.id("s1")},
               {ItemKind::kRun, small_.id("s2")},
               {ItemKind::kRun, small_.id("s3")},
               {ItemKind::kRun, small_.id("end")}};
  EXPECT_EQ(Expected(100), AnalyzeLiveness(graph_, schedule_).peak_bytes());
}

TEST_F(ExpectedPeakTest, ATimelineSaysWhenCopiesEnd) {
  costs_.link_bytes_per_s = 100;
  const Timeline timeline = Simulate(graph_, costs_, schedule_);
  EXPECT_EQ(timeline.end[1], 2);  // Of the copy out, begun after a second.
  EXPECT_EQ(timeline.end[2], 2);
  EXPECT_EQ(timeline.end[6], 5);  // Of the copy in.
}

}  // namespace
}  // namespace sn_tf
