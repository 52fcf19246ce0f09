// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/tier_bandwidth.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "cc/pool/host_tier.h"

namespace sn_tf {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(TierBandwidthTest, MeasuresBothDirectionsAndLeavesTheTierEmpty) {
  HostTier tier(8 * kMiB);
  TierBandwidth bandwidth;
  EXPECT_EQ(MeasureTierBandwidth(tier, 2 * kMiB, &bandwidth).message, "");
  EXPECT_GT(bandwidth.write_bytes_per_s, 0);
  EXPECT_GT(bandwidth.read_bytes_per_s, 0);
  EXPECT_EQ(tier.usage().taken_bytes, 0);
}

TEST(TierBandwidthTest, ASmallTierIsMeasuredWithWhatFits) {
  HostTier tier(kMiB);
  TierBandwidth bandwidth;
  EXPECT_EQ(MeasureTierBandwidth(tier, 64 * kMiB, &bandwidth).message, "");
  EXPECT_GT(bandwidth.write_bytes_per_s, 0);
  EXPECT_GT(bandwidth.read_bytes_per_s, 0);
}

TEST(TierBandwidthTest, ATierWithNoRoomIsAnError) {
  HostTier tier(1024);
  TierBandwidth bandwidth;
  EXPECT_EQ(MeasureTierBandwidth(tier, kMiB, &bandwidth).kind,
            TierError::Kind::kFull);
  EXPECT_EQ(bandwidth.write_bytes_per_s, 0);
}

}  // namespace
}  // namespace sn_tf
