// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/unified_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/pool/transfer_progress.h"
#include "tests/cc/fake_tier.h"
#include "tests/cc/tier_copies.h"

namespace sn_tf {
namespace {

using Kind = TierError::Kind;
using Step = FakeTier::Step;
using Transit = UnifiedPool::Transit;

constexpr int64_t kBytes = 12;  // Three chunks.

// How a store ended.
struct Stored {
  PooledBuffer buffer;
  TierError error;
};

TierError Fault(Kind kind) { return {kind, "It went wrong."}; }

// Of all steps of that kind.
FakeTier::Hook FailsAt(Step step, Kind kind, int chunk = 0) {
  return [=](Step at, int of_chunk) {
    return at == step && of_chunk == chunk ? Fault(kind) : TierError();
  };
}

// Two tiers, "near" and "far".
class UnifiedPoolTest : public testing::Test {
 protected:
  UnifiedPoolTest() { MakePool(/*checked=*/false); }

  void MakePool(bool checked, int64_t near_limit_bytes = 1 << 20) {
    pool_.reset();
    near_ = new FakeTier("near", near_limit_bytes);
    far_ = new FakeTier("far");
    std::vector<PoolTier> tiers(2);
    tiers[0].tier.reset(near_);
    tiers[1].tier.reset(far_);
    for (PoolTier& tier : tiers) tier.checked = checked;
    pool_ = std::make_unique<UnifiedPool>(std::move(tiers), &leaving_);
  }

  std::future<Stored> BeginStore(
      const Bytes& source, int64_t needed_at = 0,
      std::shared_ptr<Transit> transit = std::make_shared<Transit>()) {
    auto ended = std::make_shared<std::promise<Stored>>();
    pool_->Store("grads/w:0", source.data(),
                 static_cast<int64_t>(source.size()), needed_at,
                 std::move(transit),
                 [ended](PooledBuffer buffer, const TierError& error) {
                   ended->set_value({std::move(buffer), error});
                 });
    return ended->get_future();
  }

  Stored Store(const Bytes& source) { return BeginStore(source).get(); }

  std::future<TierError> BeginLoad(
      const PooledBuffer& buffer, Bytes* back, int64_t needed_at = 0,
      std::shared_ptr<Transit> transit = std::make_shared<Transit>()) {
    back->assign(buffer.stored.bytes(), 0);
    auto ended = std::make_shared<std::promise<TierError>>();
    pool_->Load(buffer, back->data(), needed_at, std::move(transit),
                [ended](const TierError& error) { ended->set_value(error); });
    return ended->get_future();
  }

  TierError Load(const PooledBuffer& buffer, Bytes* back) {
    return BeginLoad(buffer, back).get();
  }

  // Waits until what has ended is released too.
  void Settle() {
    uint64_t seen = 0;
    while (leaving_.Wait(&seen, std::chrono::seconds(30))) {
    }
  }

  // Keeps the queue that comes to that step busy until Open.
  FakeTier::Hook BlocksAt(Step step, int chunk = 0) {
    begun_ = {};
    gate_ = {};
    blocks_ = true;
    return [this, step, chunk, open = gate_.get_future().share()](
               Step at, int of_chunk) {
      if (at == step && of_chunk == chunk && blocks_.exchange(false)) {
        begun_.set_value();
        open.wait();
      }
      return TierError();
    };
  }
  void WaitUntilBlocked() { begun_.get_future().wait(); }
  void Open() { gate_.set_value(); }

  TransferProgress leaving_;
  FakeTier* near_ = nullptr;
  FakeTier* far_ = nullptr;
  std::atomic<bool> blocks_{false};  // The next one at that step.
  std::promise<void> begun_;
  std::promise<void> gate_;
  const Bytes source_ = RandomBytes(kBytes, 1);
  Bytes back_;
  std::unique_ptr<UnifiedPool> pool_;
};

TEST_F(UnifiedPoolTest, BuffersComeBackAsTheyWere) {
  for (const int64_t bytes : {0, 1, 4, 5, 100}) {
    const Bytes source = RandomBytes(bytes, 2);
    const Stored stored = Store(source);
    ASSERT_TRUE(stored.error.ok()) << stored.error.message;
    EXPECT_EQ(stored.buffer.tier, 0);
    EXPECT_EQ(stored.buffer.name, "grads/w:0");
    EXPECT_TRUE(Load(stored.buffer, &back_).ok());
    EXPECT_EQ(back_, source);
  }
  EXPECT_EQ(near_->usage().taken_bytes, 0);
}

TEST_F(UnifiedPoolTest, TiersAreFilledInOrder) {
  MakePool(false, 2 * kBytes);
  const Stored a = Store(source_);
  Stored b = Store(source_);
  const Stored c = Store(source_);
  EXPECT_EQ(a.buffer.tier, 0);
  EXPECT_EQ(b.buffer.tier, 0);
  EXPECT_EQ(c.buffer.tier, 1);
  EXPECT_TRUE(Load(c.buffer, &back_).ok());
  EXPECT_EQ(back_, source_);
  // Where there is room again, the first one takes again.
  b = Stored();
  EXPECT_EQ(Store(source_).buffer.tier, 0);
}

TEST_F(UnifiedPoolTest, ATierThatIsFullInTheMiddleLeavesItToTheNext) {
  near_->set_hook(FailsAt(Step::kWrite, Kind::kFull, 1));
  const Stored stored = Store(source_);
  ASSERT_TRUE(stored.error.ok());
  EXPECT_EQ(stored.buffer.tier, 1);
  Settle();
  EXPECT_EQ(near_->usage().taken_bytes, 0);
  EXPECT_TRUE(Load(stored.buffer, &back_).ok());
  EXPECT_EQ(back_, source_);
  // A tier that is full is not broken.
  EXPECT_EQ(pool_->stats()[0].faults, 0);
}

TEST_F(UnifiedPoolTest, AFaultLeavesItToTheNextTier) {
  for (const Step step : {Step::kBeginWrite, Step::kWrite}) {
    MakePool(false);
    near_->set_hook(FailsAt(step, Kind::kFailed));
    const Stored stored = Store(source_);
    ASSERT_TRUE(stored.error.ok());
    EXPECT_EQ(stored.buffer.tier, 1);
    EXPECT_EQ(pool_->stats()[0].faults, 1);
    EXPECT_FALSE(pool_->stats()[0].broken);
  }
}

TEST_F(UnifiedPoolTest, WithoutATierTheLastErrorIsTheAnswer) {
  near_->set_hook(FailsAt(Step::kWrite, Kind::kFull, 2));
  far_->set_hook(FailsAt(Step::kBeginWrite, Kind::kFailed));
  const Stored stored = Store(source_);
  EXPECT_EQ(stored.error.kind, Kind::kFailed);
  EXPECT_EQ(stored.error.message, "It went wrong.");
  EXPECT_EQ(stored.buffer.stored.tier(), nullptr);
  Settle();
  EXPECT_EQ(near_->usage().taken_bytes, 0);
  EXPECT_EQ(leaving_.pending_bytes(), 0);
}

TEST_F(UnifiedPoolTest, APoolWithoutTiersIsFull) {
  pool_ = std::make_unique<UnifiedPool>(std::vector<PoolTier>(), &leaving_);
  const Stored stored = Store(source_);
  EXPECT_EQ(stored.error.kind, Kind::kFull);
  EXPECT_EQ(stored.error.message,
            "No tier was left to store grads/w:0 (12 B).");
}

TEST_F(UnifiedPoolTest, AfterThreeFaultsInARowATierIsNotAskedAnyMore) {
  const Stored before = Store(source_);
  int asked = 0;
  near_->set_hook([&asked](Step step, int) {
    if (step == Step::kBeginWrite) ++asked;
    return step == Step::kWrite ? Fault(Kind::kFailed) : TierError();
  });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Store(source_).buffer.tier, 1);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(pool_->stats()[0].faults, 3);
  EXPECT_TRUE(pool_->stats()[0].broken);
  EXPECT_FALSE(pool_->stats()[1].broken);
  // What it has stored it may still give back; it stays broken.
  near_->set_hook(nullptr);
  EXPECT_TRUE(Load(before.buffer, &back_).ok());
  EXPECT_EQ(back_, source_);
  EXPECT_TRUE(pool_->stats()[0].broken);
  EXPECT_EQ(Store(source_).buffer.tier, 1);
}

TEST_F(UnifiedPoolTest, FaultsBetweenSuccessesDoNotBreakATier) {
  int writes = 0;
  near_->set_hook([&writes](Step step, int chunk) {
    const bool fails = step == Step::kWrite && chunk == 0 && ++writes % 3 != 0;
    return fails ? Fault(Kind::kFailed) : TierError();
  });
  for (int i = 0; i < 12; ++i) Store(source_);
  EXPECT_EQ(pool_->stats()[0].faults, 8);
  EXPECT_FALSE(pool_->stats()[0].broken);
  EXPECT_EQ(pool_->stats()[0].out_bytes, 4 * kBytes);
}

TEST_F(UnifiedPoolTest, FullAndCancelledAreNoFaults) {
  near_->set_hook(FailsAt(Step::kWrite, Kind::kFull));
  for (int i = 0; i < 4; ++i) Store(source_);
  near_->set_hook(nullptr);
  for (int i = 0; i < 4; ++i) {
    const auto transit = std::make_shared<Transit>();
    transit->Cancel();
    BeginStore(source_, 0, transit).get();
  }
  EXPECT_EQ(pool_->stats()[0].faults, 0);
  EXPECT_EQ(Store(source_).buffer.tier, 0);
}

TEST_F(UnifiedPoolTest, AReadIsTriedOnceMore) {
  const Stored stored = Store(source_);
  int reads = 0;
  near_->set_hook([&reads](Step, int chunk) {
    return chunk == 0 && ++reads == 1 ? Fault(Kind::kFailed) : TierError();
  });
  EXPECT_TRUE(Load(stored.buffer, &back_).ok());
  EXPECT_EQ(back_, source_);
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(pool_->stats()[0].faults, 1);
}

TEST_F(UnifiedPoolTest, AfterTwoFailedReadsABufferIsLost) {
  const Stored stored = Store(source_);
  int reads = 0;
  near_->set_hook([&reads](Step, int chunk) {
    return chunk == 1 && ++reads > 0 ? Fault(Kind::kFailed) : TierError();
  });
  const TierError error = Load(stored.buffer, &back_);
  EXPECT_EQ(error.kind, Kind::kFailed);
  EXPECT_EQ(error.message, "Buffer grads/w:0 is lost. It went wrong.");
  EXPECT_EQ(reads, 2);
  // Asked once more, it is tried twice more.
  EXPECT_FALSE(Load(stored.buffer, &back_).ok());
  EXPECT_EQ(reads, 4);
}

TEST_F(UnifiedPoolTest, WithChecksumsAWrongByteIsNoticed) {
  MakePool(/*checked=*/true);
  const Stored stored = Store(source_);
  ASSERT_TRUE(stored.error.ok());
  near_->CorruptReads(1);
  EXPECT_TRUE(Load(stored.buffer, &back_).ok());
  EXPECT_EQ(back_, source_);
  EXPECT_EQ(pool_->stats()[0].faults, 1);
  near_->CorruptReads(2);
  const TierError error = Load(stored.buffer, &back_);
  EXPECT_EQ(error.kind, Kind::kCorrupt);
  EXPECT_EQ(error.message.rfind("Buffer grads/w:0 is lost. ", 0), 0u)
      << error.message;
}

TEST_F(UnifiedPoolTest, ChecksumsFollowABufferToTheNextTier) {
  MakePool(/*checked=*/true);
  near_->set_hook(FailsAt(Step::kWrite, Kind::kFull, 1));
  const Stored stored = Store(source_);
  EXPECT_EQ(stored.buffer.tier, 1);
  EXPECT_TRUE(Load(stored.buffer, &back_).ok());
  EXPECT_EQ(back_, source_);
}

TEST_F(UnifiedPoolTest, WithoutChecksumsNothingIsCompared) {
  const Stored stored = Store(source_);
  near_->CorruptReads(1);
  EXPECT_TRUE(Load(stored.buffer, &back_).ok());
  EXPECT_NE(back_, source_);
}

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
  EXPECT_EQ(pool_->stats()[0].out_bytes, kBytes);
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
    pool_->Store(name, source_.data(), kBytes, needed_at, std::move(transit),
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
  pool_->Store("soon", source_.data(), kBytes, 1, std::make_shared<Transit>(),
               [&](PooledBuffer, const TierError&) { count(false); });
  hurried->Hurry();
  pool_->Store("hurried", source_.data(), kBytes, 9, hurried,
               [&](PooledBuffer, const TierError&) { count(true); });
  // Both wait behind the first one, on the second tier.
  while (near_->usage().taken_bytes > 0) std::this_thread::yield();
  Open();
  both.get_future().wait();
  EXPECT_EQ(place_of_hurried, 1);
}

TEST_F(UnifiedPoolTest, OnlyStoresAreToldToLeave) {
  const Stored stored = Store(source_);
  Settle();
  near_->set_hook(BlocksAt(Step::kRead));
  std::future<TierError> load = BeginLoad(stored.buffer, &back_);
  WaitUntilBlocked();
  EXPECT_EQ(leaving_.pending_bytes(), 0);
  std::future<Stored> store = BeginStore(source_);
  // The directions do not wait for each other.
  EXPECT_TRUE(store.get().error.ok());
  Open();
  EXPECT_TRUE(load.get().ok());
}

TEST_F(UnifiedPoolTest, StatsTellOfEachTier) {
  MakePool(false, kBytes);
  const Stored a = Store(source_);
  const Stored b = Store(source_);
  EXPECT_TRUE(Load(b.buffer, &back_).ok());
  EXPECT_TRUE(Load(b.buffer, &back_).ok());
  const std::vector<PoolTierStats> stats = pool_->stats();
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[0].name, "near");
  EXPECT_EQ(stats[0].usage.limit_bytes, kBytes);
  EXPECT_EQ(stats[0].usage.stored_bytes, kBytes);
  EXPECT_EQ(stats[0].out_bytes, kBytes);
  EXPECT_EQ(stats[0].in_bytes, 0);
  EXPECT_EQ(stats[1].name, "far");
  EXPECT_EQ(stats[1].out_bytes, kBytes);
  EXPECT_EQ(stats[1].in_bytes, 2 * kBytes);
  EXPECT_GT(stats[1].in_seconds, 0);
  EXPECT_EQ(stats[1].faults, 0);
}

}  // namespace
}  // namespace sn_tf
