// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/checked_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "cc/pool/checksum.h"
#include "cc/pool/host_tier.h"
#include "tests/cc/scripted_copy.h"
#include "tests/cc/tier_copies.h"

namespace sn_tf {
namespace {

using Kind = TierError::Kind;
using Progress = TierCopy::Progress;

constexpr int64_t kMiB = int64_t{1} << 20;

uint64_t ChecksumOf(const Bytes& bytes) {
  Checksum checksum;
  checksum.Add(bytes.data(), static_cast<int64_t>(bytes.size()));
  return checksum.Digest();
}

// A whole checked write and read of `source` by way of a host tier, with the
// bits of `damage` turned over in between.
TierError ThereAndBack(const Bytes& source, uint8_t damage, Bytes* back) {
  HostTier tier(0);
  const auto bytes = static_cast<int64_t>(source.size());
  TierError error;
  CheckedWrite write(tier.BeginWrite(source.data(), bytes, &error),
                     source.data(), bytes);
  EXPECT_EQ(CopyAll(write).message, "");
  EXPECT_EQ(write.checksum(), ChecksumOf(source));
  StoredBuffer stored = write.Take();
  if (damage != 0) {
    Bytes other = source;
    other[other.size() / 2] ^= damage;
    stored = Store(tier, other);
  }
  back->resize(source.size());
  CheckedRead read(tier.BeginRead(stored, back->data()), back->data(), bytes,
                   write.checksum());
  return CopyAll(read);
}

TEST(CheckedCopyTest, BuffersComeBackAsTheyWere) {
  for (const int64_t bytes :
       {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{4096}, 8 * kMiB,
        8 * kMiB + 1, 17 * kMiB + 5}) {
    const Bytes source = RandomBytes(bytes, 3);
    Bytes back;
    EXPECT_EQ(ThereAndBack(source, 0, &back).message, "") << bytes;
    EXPECT_TRUE(back == source) << bytes;
  }
}

TEST(CheckedCopyTest, OneBitIsNoticed) {
  for (const int64_t bytes : {int64_t{1}, int64_t{4096}, 9 * kMiB}) {
    Bytes back;
    const TierError error = ThereAndBack(RandomBytes(bytes, 3), 0x10, &back);
    EXPECT_EQ(error.kind, Kind::kCorrupt) << bytes;
    EXPECT_NE(error.message, "");
  }
}

TEST(CheckedCopyTest, NoChunkOfAWriteBothSumsUpAndCopies) {
  const Bytes source = RandomBytes(20 * kMiB, 4);
  HostTier tier(0);
  TierError error;
  const auto bytes = static_cast<int64_t>(source.size());
  CheckedWrite write(tier.BeginWrite(source.data(), bytes, &error),
                     source.data(), bytes);
  int chunks = 1;
  while (write.CopyChunk(&error) == Progress::kMore) ++chunks;
  // Of 8 MiB each: three to sum up, three to copy.
  EXPECT_EQ(chunks, 6);
}

TEST(CheckedCopyTest, AReadThatFailsFails) {
  Bytes destination(100);
  CheckedRead read(
      std::make_unique<ScriptedCopy>([chunk = 0](TierError* error) mutable {
        if (chunk++ == 0) return Progress::kMore;
        *error = {Kind::kFailed, "broken"};
        return Progress::kFailed;
      }),
      destination.data(), 100, 0);
  TierError error;
  EXPECT_EQ(read.CopyChunk(&error), Progress::kMore);
  EXPECT_EQ(read.CopyChunk(&error), Progress::kFailed);
  EXPECT_EQ(error.kind, Kind::kFailed);
  EXPECT_EQ(error.message, "broken");
}

class FailingWrite : public TierWrite {
 public:
  Progress CopyChunk(TierError* error) override {
    *error = {Kind::kFull, "no room"};
    return Progress::kFailed;
  }
  StoredBuffer Take() override { return StoredBuffer(); }
};

TEST(CheckedCopyTest, AWriteThatFailsFails) {
  const Bytes source = RandomBytes(200, 5);
  CheckedWrite write(std::make_unique<FailingWrite>(), source.data(), 200);
  const TierError error = CopyAll(write);
  EXPECT_EQ(error.kind, Kind::kFull);
  EXPECT_EQ(error.message, "no room");
}

TEST(ChecksumPassTest, PiecesDoNotMatter) {
  const Bytes source = RandomBytes(16 * kMiB + 77, 8);
  ChecksumPass pass(source.data(), static_cast<int64_t>(source.size()));
  int pieces = 1;
  while (!pass.Advance()) ++pieces;
  EXPECT_EQ(pieces, 3);
  EXPECT_EQ(pass.Digest(), ChecksumOf(source));
}

}  // namespace
}  // namespace sn_tf
