// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/phases.h"

#include <gtest/gtest.h>
#include <time.h>

#include <thread>

namespace sn_tf {
namespace {

constexpr double kWorkSeconds = 0.02;

double ThreadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

void Work() {
  const double begin = ThreadSeconds();
  while (ThreadSeconds() - begin < kWorkSeconds) {
  }
}

double Of(const PhaseSeconds& seconds, Phase phase) {
  return seconds[static_cast<size_t>(phase)];
}

TEST(PhasesTest, TimeInsideAnotherPhaseIsOfThatOne) {
  TakePhaseSeconds();
  {
    const PhaseTimer plan(Phase::kPlan);
    const PhaseTimer route(Phase::kRoute);
    Work();
  }
  const PhaseSeconds seconds = TakePhaseSeconds();
  EXPECT_GE(Of(seconds, Phase::kRoute), kWorkSeconds);
  EXPECT_LT(Of(seconds, Phase::kPlan), kWorkSeconds);
  EXPECT_EQ(Of(seconds, Phase::kVerify), 0);
}

TEST(PhasesTest, APhaseGoesOnBehindAnother) {
  TakePhaseSeconds();
  {
    const PhaseTimer plan(Phase::kPlan);
    { const PhaseTimer route(Phase::kRoute); }
    Work();
  }
  EXPECT_GE(Of(TakePhaseSeconds(), Phase::kPlan), kWorkSeconds);
}

TEST(PhasesTest, WhatWasTakenIsGone) {
  {
    const PhaseTimer plan(Phase::kPlan);
    Work();
  }
  TakePhaseSeconds();
  EXPECT_EQ(TakePhaseSeconds(), PhaseSeconds());
}

TEST(PhasesTest, ThreadsCountForThemselves) {
  TakePhaseSeconds();
  std::thread([] {
    const PhaseTimer plan(Phase::kPlan);
    Work();
  }).join();
  EXPECT_EQ(TakePhaseSeconds(), PhaseSeconds());
}

}  // namespace
}  // namespace sn_tf
