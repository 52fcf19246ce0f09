// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grappler_pass/step_profile.h"

namespace sn_tf {
namespace {

using Kind = AllocationEvent::Kind;
using Region = AllocationEvent::Region;

constexpr int64_t kStep = 7;

AllocationEvent Event(Kind kind, uint64_t id, int64_t bytes,
                      const std::string& op = "", Region region = Region::kTemp,
                      int64_t step = kStep) {
  AllocationEvent event;
  event.kind = kind;
  event.id = id;
  event.bytes = bytes;
  event.op = op;
  event.region = region;
  event.step_id = step;
  return event;
}

TEST(DigestTraceTest, TellsOutputsWorkspacesAndPeak) {
  const StepProfile profile = DigestTrace(
      {Event(Kind::kAllocate, 1, 100, "conv", Region::kOutput),
       Event(Kind::kAllocate, 2, 30, "conv"),
       Event(Kind::kAllocate, 3, 20, "conv"), Event(Kind::kFree, 2, 30),
       Event(Kind::kAllocate, 4, 10, "conv"), Event(Kind::kFree, 0, 500),
       Event(Kind::kAllocate, 5, 700, "other", Region::kTemp, kStep + 1)},
      kStep, 1000);
  EXPECT_EQ(profile.output_bytes.at("conv"), std::vector<int64_t>{100});
  EXPECT_EQ(profile.workspace_bytes.at("conv"), 50);
  EXPECT_EQ(profile.workspace_bytes.count("other"), 0u) << "another step's";
  EXPECT_EQ(profile.begin_bytes, 1000);
  EXPECT_EQ(profile.peak_bytes, 1330);
  EXPECT_TRUE(profile.complete);
}

TEST(DigestTraceTest, TellsWhatVariablesHoldMoreThanBefore) {
  const StepProfile profile = DigestTrace(
      {Event(Kind::kAllocate, 1, 100, "assign"),
       Event(Kind::kAllocate, 2, 300, "assign_2"),
       Event(Kind::kAllocate, 3, 50, "conv"), Event(Kind::kFree, 3, 50),
       Event(Kind::kAllocate, 4, 70, "loss", Region::kOutput),
       Event(Kind::kFree, 0, 300), Event(Kind::kFree, 0, 500)},
      kStep, 1000);
  EXPECT_EQ(profile.kept_bytes, 100);
}

TEST(DigestTraceTest, TellsWhatLoopsHeldTogether) {
  const StepProfile profile = DigestTrace(
      {Event(Kind::kAllocate, 1, 100, "loop/a", Region::kOutput),
       Event(Kind::kAllocate, 2, 900, "conv", Region::kOutput),
       Event(Kind::kAllocate, 3, 20, "loop/b"), Event(Kind::kFree, 3, 20),
       Event(Kind::kAllocate, 4, 10, "loop/a", Region::kOutput),
       Event(Kind::kFree, 1, 100),
       Event(Kind::kAllocate, 5, 70, "loop/b", Region::kOutput)},
      kStep, 1000, {"loop/a", "loop/b"});
  EXPECT_EQ(profile.interior_bytes, 120);
}

TEST(DigestTraceTest, WhatWasRefusedWasNeeded) {
  const StepProfile profile =
      DigestTrace({Event(Kind::kAllocate, 1, 30, "pool"),
                   Event(Kind::kRefused, 0, 200, "pool"),
                   Event(Kind::kRefused, 0, 900, "cast", Region::kOutput),
                   Event(Kind::kAllocate, 2, 40, "pool")},
                  kStep, 1000);
  EXPECT_EQ(profile.workspace_bytes.at("pool"), 230);
  EXPECT_EQ(profile.output_bytes.count("cast"), 0u);
  EXPECT_EQ(profile.peak_bytes, 1930);
  EXPECT_FALSE(profile.complete);
}

TEST(GrownTest, WhatIsInUseBeforeTheStepIsAsItIsNow) {
  StepProfile profile;
  profile.begin_bytes = 100;
  profile.peak_bytes = 150;
  profile.workspace_bytes["conv"] = 7;
  const StepProfile grown = Grown(profile, 4, 130);
  EXPECT_EQ(grown.begin_bytes, 130);
  EXPECT_EQ(grown.peak_bytes, 330);
  EXPECT_EQ(grown.workspace_bytes.at("conv"), 28);
  EXPECT_EQ(Grown(profile, 4, 60).peak_bytes, 300);
}

}  // namespace
}  // namespace sn_tf
