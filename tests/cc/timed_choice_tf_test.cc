// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "grappler_pass/timed_choice.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

using tensorflow::grappler::GrapplerItem;

// Room for all but one buffer: by its estimate, `a` is recomputed more slowly
// than it is copied.
class TimedChoiceTest : public testing::Test {
 protected:
  TimedChoiceTest() {
    knowledge_.profile = StepProfile();
    knowledge_.profile->begin_bytes = 1000;
    const auto planned = PlanGraph(item_, options_, knowledge_);
    EXPECT_TRUE(planned.ok()) << planned.status();
    planned_ = *planned;
  }

  // What to do when `a` takes `seconds`, and an instance `instance_seconds`.
  TimedChoice Choose(double seconds, double instance_seconds) {
    knowledge_.op_seconds = OpSeconds();
    for (const char* const op : {"b", "c", "d", "end"}) {
      (*knowledge_.op_seconds)[op] = 10e-6;
    }
    (*knowledge_.op_seconds)["a"] = seconds;
    const auto choice =
        ChooseByTimes(item_, options_, knowledge_,
                      NamesOf(planned_.imported.memory, planned_.plan.schedule),
                      instance_seconds);
    EXPECT_TRUE(choice.ok()) << choice.status();
    return *choice;
  }

  GrapplerItem item_ = SmallItem(64);
  PlannerOptions options_ =
      OptionsOf(1000 + 4 * kSmallItemBuffer + 128 * 1024, "host");
  GraphKnowledge knowledge_;
  PlannedGraph planned_;
};

TEST_F(TimedChoiceTest, APlanThatIsNoLongerTheBestIsReplaced) {
  EXPECT_TRUE(Choose(0.1e-6, 10e-6).replace);
}

TEST_F(TimedChoiceTest, APlanThatStaysIsToldWithItsTimes) {
  const TimedChoice choice = Choose(10e-6, 10e-6);
  EXPECT_FALSE(choice.replace);
  EXPECT_EQ(choice.present.plan.schedule, planned_.plan.schedule);
  EXPECT_EQ(choice.present.plan.peak_bytes, planned_.plan.peak_bytes);
  EXPECT_EQ(choice.present.plan.min_budget_bytes,
            planned_.plan.min_budget_bytes);
  // Five ops of 10 microseconds, and others of next to nothing.
  EXPECT_NEAR(choice.present.plan.step_seconds, 50e-6, 25e-6);
  EXPECT_NE(choice.present.plan.step_seconds, planned_.plan.step_seconds);
}

TEST_F(TimedChoiceTest, WhatWouldNotPayForANewInstanceStays) {
  EXPECT_FALSE(Choose(0.1e-6, 1).replace);
}

TEST_F(TimedChoiceTest, APlanThatDoesNotFitIsReplaced) {
  options_.budget_bytes -= kSmallItemBuffer;  // Without what is spare, too.
  PlannerOptions wide = options_;
  wide.budget_bytes *= 2;
  const auto planned = PlanGraph(item_, wide, knowledge_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  planned_ = *planned;
  // However long a new instance takes.
  const TimedChoice choice = Choose(10e-6, 1000);
  EXPECT_FALSE(choice.present.plan.feasible);
  EXPECT_TRUE(choice.replace);
}

TEST_F(TimedChoiceTest, TimesHelpWherePlansMoveSomething) {
  EXPECT_TRUE(TimesWouldHelp(planned_, "CPU:0"));
  EXPECT_TRUE(TimesWouldHelp(planned_, "SIM:0"));
  EXPECT_FALSE(TimesWouldHelp(planned_, "GPU:0"));
  options_.budget_bytes = 0;
  const auto route = PlanGraph(item_, options_, knowledge_);
  ASSERT_TRUE(route.ok()) << route.status();
  EXPECT_FALSE(TimesWouldHelp(*route, "CPU:0"));
}

}  // namespace
}  // namespace sn_tf
