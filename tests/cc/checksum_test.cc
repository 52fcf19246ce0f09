// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/cc/tier_copies.h"

namespace sn_tf {
namespace {

uint64_t Digest(const Bytes& data) {
  Checksum checksum;
  checksum.Add(data.data(), static_cast<int64_t>(data.size()));
  return checksum.Digest();
}

TEST(ChecksumTest, PiecesDoNotMatter) {
  const Bytes data = RandomBytes(5000, 1);
  const uint64_t whole = Digest(data);
  std::minstd_rand random(1);
  for (int i = 0; i < 200; ++i) {
    Checksum checksum;
    for (size_t done = 0; done < data.size();) {
      const size_t piece = std::min<size_t>(
          random() % (i % 2 == 0 ? 100 : 1000), data.size() - done);
      checksum.Add(data.data() + done, static_cast<int64_t>(piece));
      done += piece;
    }
    ASSERT_EQ(checksum.Digest(), whole);
  }
}

TEST(ChecksumTest, TheDigestDoesNotEndTheSum) {
  const Bytes data = RandomBytes(300, 2);
  Checksum checksum;
  checksum.Add(data.data(), 100);
  EXPECT_EQ(checksum.Digest(), Digest(Bytes(data.begin(), data.begin() + 100)));
  checksum.Add(data.data() + 100, 200);
  EXPECT_EQ(checksum.Digest(), Digest(data));
}

TEST(ChecksumTest, AlignmentDoesNotMatter) {
  const Bytes data = RandomBytes(1000, 3);
  for (int shift = 0; shift < 16; ++shift) {
    Bytes shifted(shift, 0);
    shifted.insert(shifted.end(), data.begin(), data.end());
    Checksum checksum;
    checksum.Add(shifted.data() + shift, 1000);
    EXPECT_EQ(checksum.Digest(), Digest(data));
  }
}

TEST(ChecksumTest, EveryBitCounts) {
  for (const Bytes& data : {Bytes(200, 0), RandomBytes(200, 4)}) {
    std::set<uint64_t> seen = {Digest(data)};
    for (size_t bit = 0; bit < data.size() * 8; ++bit) {
      Bytes changed = data;
      changed[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_TRUE(seen.insert(Digest(changed)).second) << bit;
    }
  }
}

// Faults that sums of words are known to miss.
TEST(ChecksumTest, TwoFaultsDoNotMakeUpForEachOther) {
  const Bytes data = RandomBytes(1024, 5);
  std::set<uint64_t> seen = {Digest(data)};
  for (size_t a = 0; a < 128; ++a) {
    for (size_t b = a + 1; b < 128; ++b) {
      Bytes signs = data;  // The top bits of two words.
      signs[a * 8 + 7] ^= 0x80;
      signs[b * 8 + 7] ^= 0x80;
      EXPECT_TRUE(seen.insert(Digest(signs)).second) << a << " " << b;
      Bytes places = data;
      std::swap_ranges(places.begin() + static_cast<int64_t>(a) * 8,
                       places.begin() + static_cast<int64_t>(a) * 8 + 8,
                       places.begin() + static_cast<int64_t>(b) * 8);
      EXPECT_TRUE(seen.insert(Digest(places)).second) << a << " " << b;
    }
  }
}

TEST(ChecksumTest, TheLengthCounts) {
  std::set<uint64_t> seen;
  for (int64_t bytes = 0; bytes < 300; ++bytes) {
    EXPECT_TRUE(seen.insert(Digest(Bytes(bytes, 0))).second) << bytes;
  }
}

TEST(ChecksumTest, NothingMayBeNull) {
  Checksum checksum;
  checksum.Add(nullptr, 0);
  EXPECT_EQ(checksum.Digest(), Digest({}));
}

}  // namespace
}  // namespace sn_tf
