// SPDX-License-Identifier: Apache-2.0
//
// Op times, from traces as an executor writes them.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "grappler_pass/cost_sampler.h"
#include "grappler_pass/measured_seconds.h"
#include "grappler_pass/op_timer.h"
#include "xla/tsl/profiler/backends/cpu/traceme_recorder.h"

namespace sn_tf {
namespace {

using tsl::profiler::TraceMeRecorder;

constexpr int64_t kMillisecond = 1'000'000;  // In nanoseconds.

void Trace(std::string name, int64_t milliseconds) {
  constexpr int64_t kBegin = 1'000'000'000;
  TraceMeRecorder::Record(
      {std::move(name), kBegin, kBegin + milliseconds * kMillisecond});
}

TEST(OpTimerTest, TimesAreSummedByOp) {
  OpTimer timer;
  ASSERT_TRUE(timer.started());
  Trace("block/conv:Conv2D", 20);
  Trace("block/conv:Conv2D", 10);
  Trace("block/relu:Relu#shape=(2,3)#", 5);
  Trace("not an op", 40);
  const OpSeconds seconds = timer.Stop();
  ASSERT_EQ(seconds.size(), 2);
  EXPECT_DOUBLE_EQ(seconds.at("block/conv"), 0.030);
  EXPECT_DOUBLE_EQ(seconds.at("block/relu"), 0.005);
  EXPECT_FALSE(TraceMeRecorder::Active());
}

TEST(OpTimerTest, WhoProfilesIsNotDisturbed) {
  ASSERT_TRUE(TraceMeRecorder::Start(1));
  {
    OpTimer timer;
    EXPECT_FALSE(timer.started());
    Trace("a:Relu", 1);
    EXPECT_TRUE(timer.Stop().empty());
  }
  EXPECT_EQ(TraceMeRecorder::Stop().size(), 1);
}

TEST(OpTimerTest, ATimerThatIsForgottenStops) {
  { const OpTimer timer; }
  EXPECT_FALSE(TraceMeRecorder::Active());
}

class CostSamplerTest : public testing::Test {
 protected:
  // One step in which op `a` takes that long.
  std::optional<OpSeconds> Step(int64_t milliseconds) {
    sampler_.BeginStep(++step_);
    Trace("a:Relu", milliseconds);
    return sampler_.EndStep(step_);
  }

  CostSampler sampler_;
  int64_t step_ = 0;
};

TEST_F(CostSamplerTest, TheLeastOfTwoStepsAfterTheFirstCounts) {
  EXPECT_FALSE(Step(1).has_value());
  EXPECT_FALSE(Step(30).has_value());
  const std::optional<OpSeconds> seconds = Step(20);
  ASSERT_TRUE(seconds.has_value());
  EXPECT_DOUBLE_EQ(seconds->at("a"), 0.020);
}

TEST_F(CostSamplerTest, StepsThatFailDoNotCount) {
  Step(1);
  sampler_.BeginStep(++step_);
  Trace("a:Relu", 1);
  sampler_.Abandon();
  EXPECT_FALSE(TraceMeRecorder::Active());
  sampler_.BeginStep(++step_);  // Does not end, unseen.
  Trace("a:Relu", 2);
  EXPECT_FALSE(Step(30).has_value());
  const std::optional<OpSeconds> seconds = Step(20);
  ASSERT_TRUE(seconds.has_value());
  EXPECT_DOUBLE_EQ(seconds->at("a"), 0.020);
}

TEST_F(CostSamplerTest, WhileSomebodyProfilesNothingIsMeasured) {
  Step(1);
  ASSERT_TRUE(TraceMeRecorder::Start(1));
  EXPECT_FALSE(Step(5).has_value());
  TraceMeRecorder::Stop();
  EXPECT_FALSE(Step(30).has_value());
  EXPECT_TRUE(Step(20).has_value());
}

TEST(MeasuredSecondsTest, TakeThePlaceOfEstimates) {
  MemoryGraph graph;
  for (const char* const name :
       {"timed", "untimed", "absorbed", "fused", "elsewhere"}) {
    Op op;
    op.name = name;
    op.seconds = 1;
    graph.ops.push_back(std::move(op));
  }
  graph.ops[2].partner = 3;
  graph.ops[3].partner = 2;
  graph.ops[4].seconds = 0;
  SetMeasuredSeconds({{"timed", 0.5}, {"fused", 0.25}, {"elsewhere", 2}},
                     &graph);
  EXPECT_EQ(graph.ops[0].seconds, 0.5);
  EXPECT_EQ(graph.ops[1].seconds, 1);
  EXPECT_EQ(graph.ops[2].seconds, 0);
  EXPECT_EQ(graph.ops[3].seconds, 0.25);
  EXPECT_EQ(graph.ops[4].seconds, 0);
}

}  // namespace
}  // namespace sn_tf
