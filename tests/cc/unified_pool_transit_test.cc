// SPDX-License-Identifier: Apache-2.0
//
// Transfers that are hurried and cancelled.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/pool/unified_pool.h"
#include "tests/cc/unified_pool_fixture.h"

namespace sn_tf {
namespace {

using Kind = TierError::Kind;
using Step = FakeTier::Step;
using Transit = UnifiedPool::Transit;

TEST_F(UnifiedPoolTest, AStoreIsCancelledInTheQueueAndBetweenChunks) {
  near_->set_hook(BlocksAt(Step::kWrite, 1));
  const auto begun = std::make_shared<Transit>();
  const auto pending = std::make_shared<Transit>();
  std::future<Stored> first = BeginStore(source_, 0, begun);
  std::future<Stored> second = BeginStore(source_, 1, pending);
  std::future<Stored> third = BeginStore(source_, 2);
  WaitUntilBlocked();
  pending->Cancel();
  begun->Cancel();
  Open();
  EXPECT_EQ(first.get().error.kind, Kind::kCancelled);
  EXPECT_EQ(second.get().error.kind, Kind::kCancelled);
  // Nobody else is concerned, and no other tier is asked.
  EXPECT_EQ(third.get().buffer.tier, 0);
  EXPECT_EQ(pool_->stats()[0].out_bytes, kPooledBytes);
  EXPECT_EQ(pool_->stats()[1].out_bytes, 0);
}

TEST_F(UnifiedPoolTest, ALoadIsCancelled) {
  const Stored stored = Store(source_);
  near_->set_hook(BlocksAt(Step::kRead, 1));
  const auto transit = std::make_shared<Transit>();
  std::future<TierError> load = BeginLoad(stored.buffer, &back_, 0, transit);
  WaitUntilBlocked();
  transit->Cancel();
  Open();
  EXPECT_EQ(load.get().kind, Kind::kCancelled);
  EXPECT_TRUE(Load(stored.buffer, &back_).ok());
  EXPECT_EQ(back_, source_);
}

TEST_F(UnifiedPoolTest, WhatIsCancelledBeforeItBeginsIsNotCopied) {
  const auto transit = std::make_shared<Transit>();
  transit->Cancel();
  EXPECT_EQ(BeginStore(source_, 0, transit).get().error.kind, Kind::kCancelled);
  Settle();
  EXPECT_EQ(near_->usage().taken_bytes, 0);
  const Stored stored = Store(source_);
  const auto back = std::make_shared<Transit>();
  back->Cancel();
  EXPECT_EQ(BeginLoad(stored.buffer, &back_, 0, back).get().kind,
            Kind::kCancelled);
}

TEST_F(UnifiedPoolTest, ACancelledStoreDoesNotGoOnToTheNextTier) {
  const auto transit = std::make_shared<Transit>();
  near_->set_hook([&transit](Step step, int chunk) {
    if (step != Step::kWrite || chunk != 1) return TierError();
    transit->Cancel();
    return Fault(Kind::kFull);
  });
  EXPECT_EQ(BeginStore(source_, 0, transit).get().error.kind, Kind::kCancelled);
  EXPECT_EQ(pool_->stats()[1].out_bytes, 0);
}

TEST_F(UnifiedPoolTest, CancellingWhatHasEndedDoesNothing) {
  const auto transit = std::make_shared<Transit>();
  const Stored stored = BeginStore(source_, 0, transit).get();
  transit->Cancel();
  transit->Hurry();
  EXPECT_TRUE(Load(stored.buffer, &back_).ok());
}

TEST_F(UnifiedPoolTest, AHurriedTransferOvertakesOthers) {
  near_->set_hook(BlocksAt(Step::kWrite));
  std::future<Stored> blocking = BeginStore(source_, -1);
  WaitUntilBlocked();
  std::vector<std::string> order;
  const auto push = [&](const std::string& name, int64_t needed_at,
                        std::shared_ptr<Transit> transit) {
    auto ended = std::make_shared<std::promise<void>>();
    pool_->Store(name, source_.data(), kPooledBytes, needed_at,
                 std::move(transit),
                 [&order, name, ended](PooledBuffer, const TierError&) {
                   order.push_back(name);
                   ended->set_value();
                 });
    return ended->get_future();
  };
  const auto hurried = std::make_shared<Transit>();
  const auto hurried_before = std::make_shared<Transit>();
  hurried_before->Hurry();
  std::vector<std::future<void>> ends;
  ends.push_back(push("soon", 1, std::make_shared<Transit>()));
  ends.push_back(push("hurried", 9, hurried));
  ends.push_back(push("hurried before", 9, hurried_before));
  hurried->Hurry();
  Open();
  for (std::future<void>& end : ends) end.wait();
  EXPECT_EQ(order,
            std::vector<std::string>({"hurried", "hurried before", "soon"}));
}

TEST_F(UnifiedPoolTest, HurryHoldsOnTheNextTierToo) {
  far_->set_hook(BlocksAt(Step::kWrite));
  near_->set_hook(FailsAt(Step::kWrite, Kind::kFull));
  std::future<Stored> blocking = BeginStore(source_, -1);
  WaitUntilBlocked();
  const auto hurried = std::make_shared<Transit>();
  std::atomic<int> ended{0};
  int place_of_hurried = 0;
  std::promise<void> both;
  const auto count = [&](bool of_hurried) {
    const int place = ++ended;
    if (of_hurried) place_of_hurried = place;
    if (place == 2) both.set_value();
  };
  pool_->Store("soon", source_.data(), kPooledBytes, 1,
               std::make_shared<Transit>(),
               [&](PooledBuffer, const TierError&) { count(false); });
  hurried->Hurry();
  pool_->Store("hurried", source_.data(), kPooledBytes, 9, hurried,
               [&](PooledBuffer, const TierError&) { count(true); });
  // Both wait behind the first one, on the second tier.
  while (near_->usage().taken_bytes > 0) std::this_thread::yield();
  Open();
  both.get_future().wait();
  EXPECT_EQ(place_of_hurried, 1);
}

}  // namespace
}  // namespace sn_tf
