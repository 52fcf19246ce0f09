// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/file_tier.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cc/pool/fault_injection.h"
#include "tests/cc/tier_copies.h"

namespace sn_tf {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

std::unique_ptr<FileTier> Make(const Faults& faults, int64_t limit_bytes) {
  TierError error;
  std::unique_ptr<SwapFile> file = SwapFile::Create(
      testing::TempDir(), std::make_unique<FaultyFileIo>(faults), &error);
  EXPECT_EQ(error.message, "");
  return std::make_unique<FileTier>(std::move(file), limit_bytes);
}

TEST(FileTierTest, WithoutALimitItMayTakeWhatTheDiskHas) {
  const std::unique_ptr<FileTier> tier = Make(Faults(), 0);
  EXPECT_GT(tier->usage().limit_bytes, 0);
  EXPECT_EQ(tier->usage().limit_bytes % SwapFile::kBlockBytes, 0);
  EXPECT_EQ(Load(Store(*tier, RandomBytes(kMiB, 1))), RandomBytes(kMiB, 1));
}

TEST(FileTierTest, AFolderThatIsNoneIsAnError) {
  TierError error;
  EXPECT_EQ(FileTier::Create("/no/such/folder", kMiB, &error), nullptr);
  EXPECT_EQ(error.kind, TierError::Kind::kFailed);
  EXPECT_NE(error.message.find("'/no/such/folder'"), std::string::npos)
      << error.message;
}

// The second of three chunks fails; nothing of the buffer stays.
TEST(FileTierTest, AFailedWriteGivesBackWhatItTook) {
  Faults faults;
  faults.write_eio = OneCall(2);
  const std::unique_ptr<FileTier> tier = Make(faults, 64 * kMiB);
  const Bytes source = RandomBytes(12 * kMiB, 1);
  TierError error;
  EXPECT_EQ(TryStore(*tier, source.data(), 12 * kMiB, &error).tier(), nullptr);
  EXPECT_EQ(error.kind, TierError::Kind::kFailed);
  EXPECT_EQ(tier->usage().taken_bytes, 0);
  EXPECT_TRUE(Load(Store(*tier, source)) == source);
}

TEST(FileTierTest, AFailedReadLeavesTheBuffer) {
  Faults faults;
  faults.read_eio = OneCall(2);
  const std::unique_ptr<FileTier> tier = Make(faults, 64 * kMiB);
  const Bytes source = RandomBytes(12 * kMiB, 1);
  const StoredBuffer stored = Store(*tier, source);
  Bytes destination(source.size());
  EXPECT_EQ(LoadTo(stored, destination.data()).kind, TierError::Kind::kFailed);
  EXPECT_TRUE(Load(stored) == source);
}

// Below the tier's limit.
TEST(FileTierTest, AFullDiskIsAFullTier) {
  Faults faults;
  faults.disk_full = 8 * kMiB;
  const std::unique_ptr<FileTier> tier = Make(faults, 64 * kMiB);
  StoredBuffer first = Store(*tier, RandomBytes(6 * kMiB, 1));
  const Bytes source = RandomBytes(5 * kMiB, 2);
  TierError error;
  EXPECT_EQ(TryStore(*tier, source.data(), 5 * kMiB, &error).tier(), nullptr);
  EXPECT_EQ(error.kind, TierError::Kind::kFull);
  EXPECT_EQ(tier->usage().taken_bytes, 6 * kMiB);
  EXPECT_TRUE(Load(first) == RandomBytes(6 * kMiB, 1));
  first = StoredBuffer();
  EXPECT_TRUE(Load(Store(*tier, source)) == source);
}

TEST(FileTierTest, WhatCameBackWrongIsCorrupt) {
  for (int64_t read = 1; read <= 3; ++read) {
    Faults faults;
    faults.corrupt = OneCall(read);
    const std::unique_ptr<FileTier> tier = Make(faults, 64 * kMiB);
    // Three chunks, so three reads.
    const Bytes source = RandomBytes(8 * kMiB + 5, 1);
    const StoredBuffer stored = Store(*tier, source);
    Bytes destination(source.size());
    const TierError error = LoadTo(stored, destination.data());
    EXPECT_EQ(error.kind, TierError::Kind::kCorrupt) << read;
    EXPECT_NE(error.message.find("a folder on another one (swap_dir)"),
              std::string::npos)
        << error.message;
    EXPECT_TRUE(Load(stored) == source);
  }
}

TEST(FileTierTest, ShortTransfersGoOn) {
  for (int64_t index = 1; index <= 3; ++index) {
    Faults faults;
    faults.short_write = OneCall(index);
    faults.short_read = OneCall(index);
    const std::unique_ptr<FileTier> tier = Make(faults, 64 * kMiB);
    const Bytes source = RandomBytes(9 * kMiB + 5, 1);
    EXPECT_TRUE(Load(Store(*tier, source)) == source);
  }
}

}  // namespace
}  // namespace sn_tf
