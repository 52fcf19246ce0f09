// SPDX-License-Identifier: Apache-2.0
//
// Tensors that leave because the plan says so.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "cc/ops/swap_handle.h"
#include "cc/ops/swapped_tensor.h"
#include "tests/cc/swapped_tensor_fixture.h"

namespace sn_tf {
namespace {

using tensorflow::Tensor;

TEST_F(SwappedTensorTest, ItLeavesAndComesBack) {
  swapped_->MoveOut();
  EXPECT_EQ(copies_.outs, 1);
  EXPECT_EQ(blocks(), 1);
  copies_.EndOut();
  EXPECT_EQ(blocks(), 0);
  const auto fetched = Fetch();
  EXPECT_FALSE(fetched->done);
  EXPECT_EQ(blocks(), 1);
  copies_.EndIn();
  ExpectOnes(*fetched);
  // TensorFlow writes into what nobody else refers to.
  EXPECT_TRUE(fetched->tensor.RefCountIsOne());
  fetched->tensor = Tensor();
  EXPECT_EQ(blocks(), 0);
}

TEST_F(SwappedTensorTest, ItsMemoryIsFreeWhenTheWaitEnds) {
  swapped_->MoveOut();
  bool done = false;
  swapped_->WaitUntilOut([&] {
    done = true;
    EXPECT_EQ(blocks(), 0);
  });
  EXPECT_FALSE(done);
  EXPECT_EQ(copies_.hurries, 1);
  copies_.EndOut();
  EXPECT_TRUE(done);
  EXPECT_GT(copies_.stalls.seconds(), 0);
  // Nothing is left to wait for.
  done = false;
  swapped_->WaitUntilOut([&done] { done = true; });
  EXPECT_TRUE(done);
  EXPECT_EQ(copies_.hurries, 1);
}

TEST_F(SwappedTensorTest, FetchedWhileItLeavesItIsStillThere) {
  swapped_->MoveOut();
  const auto fetched = Fetch();
  ExpectOnes(*fetched);
  EXPECT_EQ(copies_.ins, 0);
  // It is being copied: nobody may write into it.
  EXPECT_FALSE(fetched->tensor.RefCountIsOne());
  copies_.EndOut();
  // The copy has ended, and the fetched one is the last reference.
  EXPECT_TRUE(fetched->tensor.RefCountIsOne());
  fetched->tensor = Tensor();
  EXPECT_EQ(blocks(), 0);
  const auto again = Fetch();
  EXPECT_EQ(copies_.ins, 1);
  copies_.EndIn();
  ExpectOnes(*again);
}

TEST_F(SwappedTensorTest, WhatNoTierTakesStays) {
  swapped_->MoveOut();
  bool done = false;
  swapped_->WaitUntilOut([&done] { done = true; });
  copies_.EndOut(absl::ResourceExhaustedError("full"));
  EXPECT_TRUE(done);
  ExpectOnes(*Fetch());
  EXPECT_EQ(copies_.ins, 0);
  EXPECT_EQ(blocks(), 1);
}

TEST_F(SwappedTensorTest, WhatNoTierTakesAtOnceStaysToo) {
  copies_.refusal = absl::ResourceExhaustedError("full");
  swapped_->MoveOut();
  bool done = false;
  swapped_->WaitUntilOut([&done] { done = true; });
  EXPECT_TRUE(done);
  ExpectOnes(*Fetch());
}

TEST_F(SwappedTensorTest, APrefetchIsTheFetchsCopy) {
  Leave();
  swapped_->Prefetch(run_.context(), 0);
  EXPECT_EQ(copies_.ins, 1);
  const auto fetched = Fetch();
  EXPECT_FALSE(fetched->done);
  EXPECT_EQ(copies_.hurries, 1);
  copies_.EndIn();
  ExpectOnes(*fetched);
  EXPECT_TRUE(fetched->tensor.RefCountIsOne());
  EXPECT_EQ(copies_.ins, 1);
}

TEST_F(SwappedTensorTest, PrefetchedItIsThereAtOnce) {
  Leave();
  swapped_->Prefetch(run_.context(), 0);
  copies_.EndIn();
  const auto fetched = Fetch();
  ExpectOnes(*fetched);
  EXPECT_TRUE(fetched->tensor.RefCountIsOne());
  fetched->tensor = Tensor();
  EXPECT_EQ(blocks(), 0);
}

TEST_F(SwappedTensorTest, WhatIsThereIsNotPrefetched) {
  swapped_->Prefetch(run_.context(), 0);
  swapped_->MoveOut();
  swapped_->Prefetch(run_.context(), 0);
  copies_.EndOut();
  swapped_->Prefetch(run_.context(), 0);
  swapped_->Prefetch(run_.context(), 0);
  EXPECT_EQ(copies_.ins, 1);
  EXPECT_EQ(blocks(), 1);
  copies_.EndIn();
}

TEST_F(SwappedTensorTest, WithoutMemoryAPrefetchIsLeftToTheFetch) {
  Leave();
  device_.device_memory.full = true;
  swapped_->Prefetch(run_.context(), 0);
  EXPECT_EQ(copies_.ins, 0);
  device_.device_memory.full = false;
  const auto fetched = Fetch();
  EXPECT_EQ(copies_.ins, 1);
  copies_.EndIn();
  ExpectOnes(*fetched);
}

TEST_F(SwappedTensorTest, WithoutMemoryAFetchFails) {
  Leave();
  device_.device_memory.full = true;
  const auto failed = Fetch();
  ASSERT_TRUE(failed->done);
  EXPECT_EQ(failed->status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(copies_.ins, 0);
  device_.device_memory.full = false;
  const auto fetched = Fetch();
  copies_.EndIn();
  ExpectOnes(*fetched);
}

TEST_F(SwappedTensorTest, SeveralFetchesShareACopy) {
  Leave();
  const auto first = Fetch();
  const auto second = Fetch();
  EXPECT_EQ(copies_.ins, 1);
  copies_.EndIn();
  ExpectOnes(*first);
  ExpectOnes(*second);
  EXPECT_EQ(first->tensor.data(), second->tensor.data());
  first->tensor = Tensor();
  EXPECT_TRUE(second->tensor.RefCountIsOne());
  second->tensor = Tensor();
  EXPECT_EQ(blocks(), 0);
}

TEST_F(SwappedTensorTest, AFailedCopyFailsAllWhoWaitForIt) {
  Leave();
  swapped_->Prefetch(run_.context(), 0);
  const auto first = Fetch();
  const auto second = Fetch();
  copies_.EndIn(absl::DataLossError("lost"));
  for (const auto& fetched : {first, second}) {
    ASSERT_TRUE(fetched->done);
    EXPECT_EQ(fetched->status, absl::DataLossError("lost"));
  }
  EXPECT_EQ(blocks(), 0);
  // The next one tries again.
  const auto third = Fetch();
  EXPECT_EQ(copies_.ins, 2);
  copies_.EndIn();
  ExpectOnes(*third);
}

TEST_F(SwappedTensorTest, ATryAfterAFailureServesAllWhoWaitForIt) {
  Leave();
  const auto failed = std::make_shared<Fetched>();
  std::shared_ptr<Fetched> other;
  // Whoever hears of the failure first tries again, before others hear.
  swapped_->Fetch(run_.context(), 0,
                  [&](const absl::Status& status, const Tensor&) {
                    EXPECT_FALSE(status.ok());
                    other = Fetch();
                    EXPECT_FALSE(other->done);
                  });
  const auto second = Fetch();
  copies_.EndIn(absl::DataLossError("lost"));
  ASSERT_TRUE(second->done);
  EXPECT_EQ(second->status, absl::DataLossError("lost"));
  copies_.EndIn();
  ExpectOnes(*other);
}

TEST_F(SwappedTensorTest, AbandonedWhileItLeavesItStays) {
  swapped_->MoveOut();
  bool done = false;
  swapped_->WaitUntilOut([&done] { done = true; });
  swapped_->Abandon();
  EXPECT_EQ(copies_.cancels, 1);
  copies_.EndOut(absl::CancelledError());
  EXPECT_TRUE(done);
  EXPECT_EQ(blocks(), 1);
  swapped_.reset();
  EXPECT_EQ(blocks(), 0);
}

TEST_F(SwappedTensorTest, AbandonedWhileItReturnsItsFetchesFail) {
  Leave();
  const auto fetched = Fetch();
  swapped_->Abandon();
  EXPECT_EQ(copies_.cancels, 1);
  copies_.EndIn(absl::CancelledError());
  ASSERT_TRUE(fetched->done);
  EXPECT_EQ(fetched->status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(blocks(), 0);
}

TEST_F(SwappedTensorTest, AbandonedItDoesNotComeBack) {
  Leave();
  swapped_->Abandon();
  EXPECT_EQ(copies_.cancels, 0);
  swapped_->Prefetch(run_.context(), 0);
  const auto fetched = Fetch();
  ASSERT_TRUE(fetched->done);
  EXPECT_EQ(fetched->status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(copies_.ins, 0);
  EXPECT_EQ(blocks(), 0);
}

TEST_F(SwappedTensorTest, AHandleDroppedWhileItLeavesCancelsTheCopy) {
  const std::weak_ptr<SwappedTensor> weak = swapped_;
  swapped_->MoveOut();
  auto handle = std::make_unique<SwapHandle>(std::move(swapped_));
  auto copy = std::make_unique<SwapHandle>(*handle);
  handle.reset();
  EXPECT_EQ(copies_.cancels, 0);
  copy.reset();
  EXPECT_EQ(copies_.cancels, 1);
  // The copy may be reading.
  EXPECT_EQ(blocks(), 1);
  copies_.EndOut(absl::CancelledError());
  EXPECT_EQ(blocks(), 0);
  EXPECT_TRUE(weak.expired());
}

TEST_F(SwappedTensorTest, AHandleDroppedWhileItReturnsCancelsTheCopy) {
  Leave();
  const std::weak_ptr<SwappedTensor> weak = swapped_;
  swapped_->Prefetch(run_.context(), 0);
  auto handle = std::make_unique<SwapHandle>(std::move(swapped_));
  handle.reset();
  EXPECT_EQ(copies_.cancels, 1);
  // The copy may be writing.
  EXPECT_EQ(blocks(), 1);
  EXPECT_EQ(copies_.counters.stored_bytes, kTensorBytes);
  copies_.EndIn(absl::CancelledError());
  EXPECT_EQ(blocks(), 0);
  EXPECT_EQ(copies_.counters.stored_bytes, 0);
  EXPECT_TRUE(weak.expired());
}

TEST_F(SwappedTensorTest, WithItsHandleGoneNothingStaysStored) {
  Leave();
  auto handle = std::make_unique<SwapHandle>(swapped_);
  const auto fetched = Fetch();
  handle.reset();
  EXPECT_EQ(copies_.counters.stored_bytes, kTensorBytes);
  // It was asked for before, so that it comes back, and is gone with that.
  copies_.EndIn();
  ExpectOnes(*fetched);
  EXPECT_TRUE(fetched->tensor.RefCountIsOne());
  EXPECT_EQ(copies_.counters.stored_bytes, 0);
  const auto late = Fetch();
  ASSERT_TRUE(late->done);
  EXPECT_EQ(late->status.code(), absl::StatusCode::kCancelled);
}

// A step may end with what hears of a copy's end, and its handles with it.
TEST_F(SwappedTensorTest, AStepThatEndsWithACopyLeavesNothingStored) {
  Leave();
  auto handle = std::make_unique<SwapHandle>(std::move(swapped_));
  bool done = false;
  handle->swapped()->Fetch(run_.context(), 0,
                           [&](const absl::Status& status, const Tensor&) {
                             EXPECT_TRUE(status.ok()) << status;
                             handle.reset();
                             EXPECT_EQ(copies_.counters.stored_bytes, 0);
                             done = true;
                           });
  copies_.EndIn();
  EXPECT_TRUE(done);
  EXPECT_EQ(blocks(), 0);
}

TEST_F(SwappedTensorTest, AStepThatEndsWithAWaitLeavesNothingStored) {
  swapped_->MoveOut();
  auto handle = std::make_unique<SwapHandle>(std::move(swapped_));
  bool done = false;
  handle->swapped()->WaitUntilOut([&] {
    EXPECT_EQ(copies_.counters.stored_bytes, kTensorBytes);
    handle.reset();
    EXPECT_EQ(copies_.counters.stored_bytes, 0);
    done = true;
  });
  copies_.EndOut();
  EXPECT_TRUE(done);
  EXPECT_EQ(blocks(), 0);
}

TEST_F(SwappedTensorTest, WhereNobodyTellsWhenMemoryIsNeededItLeavesAtOnce) {
  swapped_->MayLeave();
  EXPECT_EQ(copies_.outs, 1);
  copies_.EndOut();
  EXPECT_EQ(blocks(), 0);
}

}  // namespace
}  // namespace sn_tf
