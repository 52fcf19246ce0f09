// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/compressed_tier.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "tests/cc/tier_copies.h"

namespace sn_tf {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

double Ratio(const Tier& tier) {
  const TierUsage usage = tier.usage();
  return static_cast<double>(usage.taken_bytes) /
         static_cast<double>(usage.stored_bytes);
}

TEST(CompressedTierTest, ActivationsTakeHalf) {
  CompressedTier tier(64 * kMiB);
  const Bytes source = ReluBytes(10 * kMiB + 3, 1);
  const StoredBuffer stored = Store(tier, source);
  EXPECT_EQ(tier.usage().stored_bytes, 10 * kMiB + 3);
  EXPECT_LT(Ratio(tier), 0.54);
  EXPECT_TRUE(Load(stored) == source);
}

TEST(CompressedTierTest, NoiseTakesItsOwnSize) {
  CompressedTier tier(64 * kMiB);
  const Bytes source = RandomBytes(10 * kMiB, 1);
  const StoredBuffer stored = Store(tier, source);
  EXPECT_EQ(tier.usage().taken_bytes, 10 * kMiB);
  EXPECT_TRUE(Load(stored) == source);
}

TEST(CompressedTierTest, ABufferMayBeOfBoth) {
  CompressedTier tier(64 * kMiB);
  Bytes source = RandomBytes(4 * kMiB, 1);
  const Bytes zeros(4 * kMiB, 0);
  source.insert(source.end(), zeros.begin(), zeros.end());
  const StoredBuffer stored = Store(tier, source);
  EXPECT_LT(tier.usage().taken_bytes, 4 * kMiB + 4 * kMiB / 30);
  EXPECT_TRUE(Load(stored) == source);
}

// The limit is of what is taken, so that more than it can be stored.
TEST(CompressedTierTest, TheLimitCountsPackedBytes) {
  CompressedTier tier(6 * kMiB);
  const Bytes source = ReluBytes(10 * kMiB, 1);
  const StoredBuffer stored = Store(tier, source);
  EXPECT_GT(tier.usage().stored_bytes, tier.usage().limit_bytes);
  EXPECT_TRUE(Load(stored) == source);
}

// Begins before it is known that there is not enough room.
TEST(CompressedTierTest, WhatDoesNotFitGivesBackWhatItTook) {
  CompressedTier tier(8 * kMiB);
  const Bytes kept = ReluBytes(4 * kMiB, 1);
  const StoredBuffer stored = Store(tier, kept);
  const int64_t taken_bytes = tier.usage().taken_bytes;
  const Bytes large = RandomBytes(20 * kMiB, 2);
  TierError error;
  const std::unique_ptr<TierWrite> write =
      tier.BeginWrite(large.data(), 20 * kMiB, &error);
  ASSERT_NE(write, nullptr);
  EXPECT_EQ(write->CopyChunk(&error), TierCopy::Progress::kMore);
  EXPECT_GT(tier.usage().taken_bytes, taken_bytes);
  EXPECT_EQ(CopyAll(*write).kind, TierError::Kind::kFull);
  // Before the write itself has ended.
  EXPECT_EQ(tier.usage().taken_bytes, taken_bytes);
  EXPECT_TRUE(Load(stored) == kept);
}

}  // namespace
}  // namespace sn_tf
