// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/zero_packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tests/cc/tier_copies.h"

namespace sn_tf {
namespace {

constexpr uint8_t kUntouched = 0xA5;

// Packs and unpacks, with a byte on each side that nobody may touch and at
// addresses that are aligned to nothing. Returns the packed size.
int64_t RoundTrip(const Bytes& data) {
  const auto bytes = static_cast<int64_t>(data.size());
  Bytes source(bytes + 1, kUntouched);
  std::copy(data.begin(), data.end(), source.begin() + 1);
  const int64_t packed_bytes = PackedBytes(source.data() + 1, bytes);
  Bytes packed(packed_bytes + 2, kUntouched);
  EXPECT_TRUE(
      PackZeros(source.data() + 1, bytes, packed.data() + 1, packed_bytes));
  EXPECT_EQ(packed.front(), kUntouched);
  EXPECT_EQ(packed.back(), kUntouched);
  Bytes unpacked(bytes + 2, kUntouched);
  UnpackZeros(packed.data() + 1, unpacked.data() + 1, bytes);
  EXPECT_EQ(unpacked.front(), kUntouched);
  EXPECT_EQ(unpacked.back(), kUntouched);
  EXPECT_TRUE(Bytes(unpacked.begin() + 1, unpacked.end() - 1) == data) << bytes;
  return packed_bytes;
}

// Words of which about `percent` in a hundred are zero.
Bytes Sparse(int64_t words, uint32_t percent, uint32_t seed) {
  std::minstd_rand random(seed + 1);
  Bytes data = RandomBytes(words * 4, seed);
  for (int64_t word = 0; word < words; ++word) {
    const bool zero = (random() >> 8) % 100 < percent;
    std::memset(data.data() + word * 4, 0, zero ? 4 : 0);
  }
  return data;
}

TEST(ZeroPackingTest, DataComesBackAsItWas) {
  for (int64_t bytes = 0; bytes < 200; ++bytes) {
    RoundTrip(RandomBytes(bytes, 1));
    RoundTrip(ReluBytes(bytes, 2));
    RoundTrip(Bytes(bytes, 0));
  }
  for (const uint32_t percent : {0, 1, 10, 50, 90, 99, 100}) {
    for (const int64_t words : {1000, 1001, 4096, 70000}) {
      RoundTrip(Sparse(words, percent, percent));
    }
  }
}

// A run of zeros after the last word kept, and before the first.
TEST(ZeroPackingTest, ZerosAtTheEnds) {
  for (size_t zeros = 0; zeros < 80; ++zeros) {
    Bytes data(400, 7);
    std::fill(data.end() - static_cast<int64_t>(zeros) * 4, data.end(), 0);
    RoundTrip(data);
    std::reverse(data.begin(), data.end());
    RoundTrip(data);
  }
}

TEST(ZeroPackingTest, NegativeZeroAndDenormalsAreKept) {
  const std::vector<float> floats = {-0.0F, 0.0F, 1e-45F, -1e-45F, 0.0F, 1.0F};
  Bytes data(floats.size() * 4);
  std::memcpy(data.data(), floats.data(), data.size());
  EXPECT_EQ(RoundTrip(data), 4 + 4 * 4 + 4);
}

TEST(ZeroPackingTest, TheSizeIsOfBitsAndOfWordsKept) {
  EXPECT_EQ(RoundTrip(Bytes(32 * 4, 0)), 4 + 4);
  EXPECT_EQ(RoundTrip(Bytes(33 * 4, 0)), 8 + 4);
  EXPECT_EQ(RoundTrip(Bytes(32 * 4, 1)), 4 + 32 * 4 + 4);
  EXPECT_EQ(RoundTrip(Bytes(3, 1)), 4);
  // More words than a run of the count.
  EXPECT_EQ(RoundTrip(Bytes((int64_t{5} << 20) + 4, 0)), 163844 + 4);
}

TEST(ZeroPackingTest, DataThatChangesMeanwhileIsNoticed) {
  constexpr int64_t kBytes = 4000;
  Bytes data = ReluBytes(kBytes, 1);
  const int64_t packed_bytes = PackedBytes(data.data(), kBytes);
  const Bytes more = RandomBytes(kBytes, 2);
  Bytes packed(packed_bytes + 1, kUntouched);
  EXPECT_FALSE(PackZeros(more.data(), kBytes, packed.data(), packed_bytes));
  EXPECT_EQ(packed.back(), kUntouched);
  const Bytes fewer(kBytes, 0);
  EXPECT_FALSE(PackZeros(fewer.data(), kBytes, packed.data(), packed_bytes));
  EXPECT_EQ(packed.back(), kUntouched);
}

}  // namespace
}  // namespace sn_tf
