// SPDX-License-Identifier: Apache-2.0
//
// Where buffers go, and what becomes of them where tiers fail.
#include "cc/pool/unified_pool.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

#include "tests/cc/unified_pool_fixture.h"

namespace sn_tf {
namespace {

using Kind = TierError::Kind;
using Step = FakeTier::Step;
using Transit = UnifiedPool::Transit;

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
  MakePool(false, 2 * kPooledBytes);
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
  EXPECT_EQ(pool_->stats()[0].out_bytes, 4 * kPooledBytes);
}

// Every step stores again before it loads.
TEST_F(UnifiedPoolTest, ATierThatOnlyTakesIsNotAskedAnyMore) {
  near_->set_hook(FailsAt(Step::kRead, Kind::kFailed));
  for (int i = 0; i < 2; ++i) {
    const Stored stored = Store(source_);
    EXPECT_EQ(stored.buffer.tier, 0);
    EXPECT_EQ(Load(stored.buffer, &back_).kind, Kind::kFailed);
  }
  EXPECT_TRUE(pool_->stats()[0].broken);
  EXPECT_EQ(Store(source_).buffer.tier, 1);
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
  MakePool(false, kPooledBytes);
  const Stored a = Store(source_);
  const Stored b = Store(source_);
  EXPECT_TRUE(Load(b.buffer, &back_).ok());
  EXPECT_TRUE(Load(b.buffer, &back_).ok());
  const std::vector<PoolTierStats> stats = pool_->stats();
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[0].name, "near");
  EXPECT_EQ(stats[0].usage.limit_bytes, kPooledBytes);
  EXPECT_EQ(stats[0].usage.stored_bytes, kPooledBytes);
  EXPECT_EQ(stats[0].out_bytes, kPooledBytes);
  EXPECT_EQ(stats[0].in_bytes, 0);
  EXPECT_EQ(stats[1].name, "far");
  EXPECT_EQ(stats[1].out_bytes, kPooledBytes);
  EXPECT_EQ(stats[1].in_bytes, 2 * kPooledBytes);
  EXPECT_GT(stats[1].in_seconds, 0);
  EXPECT_EQ(stats[1].faults, 0);
}

}  // namespace
}  // namespace sn_tf
