// SPDX-License-Identifier: Apache-2.0
//
// Swapped tensors that stay until the tensor cache needs their memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "cc/ops/swap_handle.h"
#include "cc/ops/swapped_tensor.h"
#include "cc/pool/tensor_cache.h"
#include "cc/pool/transfer_progress.h"
#include "tests/cc/swapped_tensor_fixture.h"

namespace sn_tf {
namespace {

using Eviction = Evictable::Eviction;
using tensorflow::Tensor;

class CachedTensorTest : public SwappedTensorTest {
 protected:
  CachedTensorTest() : SwappedTensorTest(&cache_) { swapped_->MayLeave(); }
  ~CachedTensorTest() override { swapped_.reset(); }

  // Out by the cache's wish; false where it moves nothing.
  bool Evict() {
    const int64_t before = cache_.stats().evictions;
    leaving_.Begins(0);
    leaving_.Ends(0);
    cache_.MakeRoom(kTensorBytes, &seen_);
    return cache_.stats().evictions > before;
  }

  TransferProgress leaving_;
  TensorCache cache_{&leaving_};
  uint64_t seen_ = 0;
};

TEST_F(CachedTensorTest, ItStaysUntilMemoryIsNeeded) {
  EXPECT_EQ(copies_.outs, 0);
  EXPECT_EQ(cache_.stats().cached_bytes, kTensorBytes);
  ExpectOnes(*Fetch());
  EXPECT_EQ(cache_.stats().hits, 1);
  EXPECT_TRUE(Evict());
  EXPECT_EQ(copies_.outs, 1);
  copies_.EndOut();
  EXPECT_EQ(blocks(), 0);
  EXPECT_EQ(cache_.stats().cached_bytes, 0);
}

// The kernel that fetched it may not have returned when the op that reads it
// runs, and the cache may be looking at it.
TEST_F(CachedTensorTest, WithItsHandleGoneNothingElseKeepsTheMemory) {
  auto handle = std::make_unique<SwapHandle>(swapped_);
  const auto fetched = Fetch();
  EXPECT_FALSE(fetched->tensor.RefCountIsOne());
  handle.reset();
  EXPECT_TRUE(fetched->tensor.RefCountIsOne());
  EXPECT_EQ(cache_.evictable_bytes(), 0);
  EXPECT_FALSE(Evict());
  fetched->tensor = Tensor();
  EXPECT_EQ(blocks(), 0);
}

TEST_F(CachedTensorTest, WhatIsInUseIsLocked) {
  Tensor other = Fetch()->tensor;
  EXPECT_TRUE(swapped_->IsLocked());
  EXPECT_FALSE(Evict());
  EXPECT_EQ(cache_.immovable().locked_bytes, kTensorBytes);
  other = Tensor();
  EXPECT_FALSE(swapped_->IsLocked());
  EXPECT_TRUE(Evict());
  copies_.EndOut();
}

TEST_F(CachedTensorTest, ASliceIsLockedByWhoeverUsesTheRest) {
  Tensor whole(&device_.device_memory, tensorflow::DT_FLOAT,
               {4, kTensorElements});
  swapped_ = Make(whole.Slice(1, 2));
  EXPECT_TRUE(swapped_->IsLocked());
  whole = Tensor();
  EXPECT_FALSE(swapped_->IsLocked());
}

TEST_F(CachedTensorTest, ATensorWithoutElementsHasNoMemoryToGive) {
  swapped_ = Make(Tensor(&device_.device_memory, tensorflow::DT_FLOAT, {0, 3}));
  swapped_->MayLeave();
  EXPECT_TRUE(swapped_->IsLocked());
  EXPECT_FALSE(Evict());
}

TEST_F(CachedTensorTest, FetchedBackItIsCachedAgainAndNeedsNoSecondCopyOut) {
  EXPECT_TRUE(Evict());
  copies_.EndOut();
  auto fetched = Fetch();
  EXPECT_EQ(copies_.ins, 1);
  copies_.EndIn();
  ExpectOnes(*fetched);
  EXPECT_EQ(cache_.stats().misses, 1);
  EXPECT_EQ(cache_.stats().cached_bytes, kTensorBytes);
  // It is kept for others, so nobody may write into it.
  EXPECT_FALSE(fetched->tensor.RefCountIsOne());
  fetched.reset();
  EXPECT_TRUE(Evict());
  EXPECT_EQ(copies_.outs, 1);
  EXPECT_EQ(blocks(), 0);
  EXPECT_EQ(leaving_.pending_bytes(), 0);
  fetched = Fetch();
  EXPECT_EQ(copies_.ins, 2);
  copies_.EndIn();
  ExpectOnes(*fetched);
}

TEST_F(CachedTensorTest, FetchedWhileItLeavesItIsNotCachedAgain) {
  EXPECT_TRUE(Evict());
  ExpectOnes(*Fetch());
  EXPECT_EQ(cache_.stats().hits, 1);
  EXPECT_EQ(cache_.stats().cached_bytes, 0);
  EXPECT_FALSE(Evict());
  EXPECT_EQ(copies_.outs, 1);
  copies_.EndOut();
  EXPECT_EQ(blocks(), 0);
  EXPECT_EQ(cache_.immovable().locked_buffers, 0);
  const auto fetched = Fetch();
  copies_.EndIn();
  ExpectOnes(*fetched);
  EXPECT_EQ(cache_.stats().cached_bytes, kTensorBytes);
}

TEST_F(CachedTensorTest, EvictedAgainWhileItLeavesItLeavesOnce) {
  EXPECT_EQ(swapped_->Evict(), Eviction::kLeaving);
  EXPECT_EQ(swapped_->Evict(), Eviction::kFailed);
  EXPECT_EQ(copies_.outs, 1);
  copies_.EndOut();
  EXPECT_EQ(swapped_->Evict(), Eviction::kFailed);
}

TEST_F(CachedTensorTest, WhatIsBeingFetchedDoesNotLeave) {
  EXPECT_TRUE(Evict());
  copies_.EndOut();
  const auto fetched = Fetch();
  EXPECT_TRUE(swapped_->IsLocked());
  EXPECT_EQ(swapped_->Evict(), Eviction::kFailed);
  copies_.EndIn();
  ExpectOnes(*fetched);
  // It has not been forgotten.
  fetched->tensor = Tensor();
  EXPECT_TRUE(Evict());
}

TEST_F(CachedTensorTest, WhatNoTierTakesIsReported) {
  copies_.refusal = absl::ResourceExhaustedError("The tier is full.");
  EXPECT_FALSE(Evict());
  EXPECT_EQ(cache_.immovable().refused_bytes, kTensorBytes);
  EXPECT_EQ(cache_.immovable().reason, "The tier is full.");
  ExpectOnes(*Fetch());
  // A later attempt may go well.
  copies_.refusal = absl::OkStatus();
  EXPECT_TRUE(Evict());
  copies_.EndOut();
  EXPECT_EQ(cache_.immovable().refused_buffers, 0);
  EXPECT_EQ(blocks(), 0);
}

TEST_F(CachedTensorTest, WhatNobodyNeedsIsFreedInsteadOfMoved) {
  swapped_->Abandon();
  EXPECT_EQ(swapped_->Evict(), Eviction::kFreed);
  EXPECT_EQ(copies_.outs, 0);
  EXPECT_EQ(blocks(), 0);
}

TEST_F(CachedTensorTest, ACancelledCopyOutIsNoRefusal) {
  EXPECT_TRUE(Evict());
  swapped_->Abandon();
  EXPECT_EQ(copies_.cancels, 1);
  copies_.EndOut(absl::CancelledError());
  EXPECT_EQ(cache_.immovable().refused_buffers, 0);
}

TEST_F(CachedTensorTest, ItsEndIsTheEndOfItsPlaceInTheCache) {
  swapped_.reset();
  EXPECT_EQ(blocks(), 0);
  EXPECT_EQ(cache_.stats().cached_bytes, 0);
  EXPECT_FALSE(Evict());
}

}  // namespace
}  // namespace sn_tf
