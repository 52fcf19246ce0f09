// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "cc/allocator/arena_allocator.h"
#include "grappler_pass/graph_record.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

constexpr int64_t kBatchBytes = 1 << 20;

int64_t InUse() { return CpuArena()->stats().arena.in_use_bytes; }

// A record of SmallItem after its first, measured step.
class GraphRecordTest : public testing::Test {
 protected:
  GraphRecordTest() {
    const auto planned = PlanGraph(item_, options_, record_.Knowledge());
    EXPECT_TRUE(planned.ok()) << planned.status();
    record_.SetPlan(*planned, options_, item_, session_, 0);
    Step(1);
  }

  void Step(int64_t id) {
    EXPECT_TRUE(record_.OnStepBegin(id, {}).ok());
    EXPECT_TRUE(record_.OnBeforeWrites(id).ok());
    EXPECT_TRUE(record_.OnStepEnd(id).ok());
  }

  const std::shared_ptr<Session> session_ = std::make_shared<Session>();
  const tensorflow::grappler::GrapplerItem item_ = SmallItem(64);
  const PlannerOptions options_ = OptionsOf(InUse() + 16 * kBatchBytes, "host");
  GraphRecord record_{"test"};
};

TEST_F(GraphRecordTest, APlanMadeWhileAPipelineIsEmptyKnowsWhatItHeld) {
  EXPECT_EQ(record_.Knowledge().in_use_bytes, 0);
  void* const batch = CpuArena()->AllocateRaw(64, kBatchBytes);
  ASSERT_NE(batch, nullptr);
  const int64_t full = InUse();
  Step(2);
  CpuArena()->DeallocateRaw(batch);
  Step(3);
  EXPECT_EQ(InUse(), full - kBatchBytes);
  EXPECT_EQ(record_.Knowledge().in_use_bytes, full);
}

TEST_F(GraphRecordTest, AStepThatFindsMoreThanWasPlannedForWantsAnotherPlan) {
  const int64_t generation = session_->Generation();
  Step(2);
  EXPECT_EQ(session_->Generation(), generation);
  void* const batch = CpuArena()->AllocateRaw(64, kBatchBytes);
  ASSERT_NE(batch, nullptr);
  Step(3);
  EXPECT_EQ(session_->Generation(), generation + 1);
  CpuArena()->DeallocateRaw(batch);
}

// Kernels that run beside the one that fails the step need memory until it has
// ended: some end the process without.
TEST_F(GraphRecordTest, AStepThatFailedMayAllocateUntilItHasEnded) {
  constexpr int64_t kStep = 2;
  ASSERT_TRUE(record_.OnStepBegin(kStep, {}).ok());
  RefusalSink* const sink = CpuArena()->sink();
  Refusal refusal;
  refusal.bytes = kBatchBytes;
  refusal.step_id = kStep;
  void* const first = sink->Take(kStep, refusal, /*plain_bytes=*/true);
  ASSERT_NE(first, nullptr);
  const absl::Status failed = record_.OnBeforeWrites(kStep);
  EXPECT_TRUE(absl::IsResourceExhausted(failed)) << failed;
  EXPECT_TRUE(sink->IsOpenFor(kStep));
  EXPECT_TRUE(absl::IsResourceExhausted(record_.OnBeforeWrites(kStep)));
  record_.OnStepFailed();
  EXPECT_FALSE(sink->IsOpenFor(kStep));
  sink->Release(first);
}

}  // namespace
}  // namespace sn_tf
