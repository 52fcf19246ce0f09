// SPDX-License-Identifier: Apache-2.0
//
// What every tier promises, held against each of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/pool/compressed_tier.h"
#include "cc/pool/file_tier.h"
#include "cc/pool/host_tier.h"
#include "cc/pool/tier.h"
#include "tests/cc/tier_copies.h"

namespace sn_tf {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

struct Kind {
  std::string name;
  // What sizes are rounded up to.
  int64_t granularity_bytes;
  std::function<std::unique_ptr<Tier>(int64_t limit_bytes)> make;
};

std::unique_ptr<Tier> MakeFile(int64_t limit_bytes) {
  TierError error;
  std::unique_ptr<Tier> tier =
      FileTier::Create(testing::TempDir(), limit_bytes, &error);
  EXPECT_EQ(error.message, "");
  return tier;
}

class TierConformanceTest : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Tier> Make(int64_t limit_bytes) const {
    return GetParam().make(limit_bytes);
  }

  int64_t Rounded(int64_t bytes) const {
    const int64_t unit = GetParam().granularity_bytes;
    return std::max(unit, (bytes + unit - 1) / unit * unit);
  }

  const std::unique_ptr<Tier> tier_ = Make(256 * kMiB);
};

TEST_P(TierConformanceTest, HasTheNameOfItsKind) {
  EXPECT_EQ(tier_->name(), GetParam().name);
}

TEST_P(TierConformanceTest, BuffersComeBackAsTheyWere) {
  for (const int64_t bytes :
       {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{4}, int64_t{63},
        int64_t{64}, int64_t{4095}, int64_t{4096}, int64_t{4097}, kMiB + 5,
        4 * kMiB, 4 * kMiB + 1, 8 * kMiB - 3, 17 * kMiB + 4099}) {
    for (const Bytes& source : {RandomBytes(bytes, 1), ReluBytes(bytes, 2)}) {
      const StoredBuffer stored = Store(*tier_, source);
      EXPECT_EQ(stored.tier(), tier_.get());
      EXPECT_EQ(stored.bytes(), bytes);
      EXPECT_TRUE(Load(stored) == source) << bytes;
    }
  }
}

TEST_P(TierConformanceTest, ABufferCanBeLoadedRepeatedly) {
  const Bytes source = ReluBytes(5 * kMiB + 1, 2);
  const StoredBuffer stored = Store(*tier_, source);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Load(stored) == source);
}

// As memory, also where another buffer was at that place before.
TEST_P(TierConformanceTest, ABufferIsSeenAsItIs) {
  for (const uint32_t seed : {1, 2, 3}) {
    const Bytes source = RandomBytes(5 * kMiB + 1, seed);
    const StoredBuffer stored = Store(*tier_, source);
    const std::unique_ptr<StoredView> view = tier_->View(stored);
    if (std::string(tier_->name()) == "compressed") {
      EXPECT_EQ(view, nullptr);
      continue;
    }
    ASSERT_NE(view, nullptr);
    const auto* const seen = static_cast<const uint8_t*>(view->data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(seen) % 64, 0);
    EXPECT_TRUE(std::equal(source.begin(), source.end(), seen)) << seed;
    EXPECT_TRUE(Load(stored) == source) << seed;
  }
}

// From and to every alignment, without a byte beside the buffer.
TEST_P(TierConformanceTest, AlignmentDoesNotMatter) {
  constexpr int64_t kRoom = 2 * 4096 + 128;
  constexpr uint8_t kUntouched = 0xA5;
  const Bytes source = ReluBytes(5 * kMiB + kRoom, 3);
  for (const int64_t from : {0, 1, 64, 512, 4096}) {
    for (const int64_t to : {0, 3, 64, 512, 4096}) {
      for (const int64_t bytes : {int64_t{4096}, int64_t{5000}, 5 * kMiB + 7}) {
        TierError error;
        // The first multiple of a page after the beginning, and then some.
        const auto* const base = source.data() + from;
        const StoredBuffer stored = TryStore(*tier_, base, bytes, &error);
        ASSERT_EQ(error.message, "");
        Bytes room(bytes + 3 * 4096, kUntouched);
        const auto address = reinterpret_cast<uintptr_t>(room.data());
        const int64_t begin = static_cast<int64_t>(-address & 4095) + to;
        ASSERT_EQ(LoadTo(stored, room.data() + begin).message, "");
        Bytes expected(room.size(), kUntouched);
        std::copy(base, base + bytes, expected.begin() + begin);
        ASSERT_TRUE(room == expected)
            << bytes << " bytes from " << from << " to " << to;
      }
    }
  }
}

TEST_P(TierConformanceTest, StorageIsFreedWithItsOwner) {
  {
    const StoredBuffer a = Store(*tier_, RandomBytes(1000, 1));
    EXPECT_EQ(tier_->usage().taken_bytes, Rounded(1000));
    EXPECT_EQ(tier_->usage().stored_bytes, 1000);
    const StoredBuffer b = Store(*tier_, RandomBytes(64, 2));
    EXPECT_EQ(tier_->usage().taken_bytes, Rounded(1000) + Rounded(64));
    EXPECT_EQ(tier_->usage().stored_bytes, 1064);
  }
  EXPECT_EQ(tier_->usage().taken_bytes, 0);
  EXPECT_EQ(tier_->usage().stored_bytes, 0);
}

TEST_P(TierConformanceTest, MovingHandsTheStorageOn) {
  StoredBuffer a = Store(*tier_, RandomBytes(64, 1));
  StoredBuffer b = Store(*tier_, RandomBytes(128, 2));
  b = std::move(a);  // Frees what b had.
  EXPECT_EQ(tier_->usage().stored_bytes, 64);
  EXPECT_EQ(a.tier(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(Load(b), RandomBytes(64, 1));
  StoredBuffer& same = b;
  b = std::move(same);
  EXPECT_EQ(tier_->usage().stored_bytes, 64);
  const StoredBuffer c(std::move(b));
  EXPECT_EQ(tier_->usage().stored_bytes, 64);
  EXPECT_EQ(Load(c), RandomBytes(64, 1));
}

TEST_P(TierConformanceTest, TheLimitIsKeptToTheByte) {
  const int64_t unit = Rounded(1);
  const std::unique_ptr<Tier> tier = Make(16 * unit);
  EXPECT_EQ(tier->usage().limit_bytes, 16 * unit);
  std::vector<StoredBuffer> stored;
  for (int i = 0; i < 4; ++i) {
    stored.push_back(Store(*tier, RandomBytes(4 * unit, i)));
  }
  EXPECT_EQ(tier->usage().taken_bytes, 16 * unit);
  TierError error;
  const Bytes one = RandomBytes(1, 9);
  EXPECT_EQ(TryStore(*tier, one.data(), 1, &error).tier(), nullptr);
  EXPECT_EQ(error.kind, TierError::Kind::kFull);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Load(stored[i]), RandomBytes(4 * unit, i));
  }
  // Room for exactly as much as was freed.
  stored[2] = StoredBuffer();
  const Bytes more = RandomBytes(4 * unit + 1, 9);
  EXPECT_EQ(TryStore(*tier, more.data(), 4 * unit + 1, &error).tier(), nullptr);
  EXPECT_EQ(error.kind, TierError::Kind::kFull);
  stored[2] = Store(*tier, RandomBytes(4 * unit, 5));
  EXPECT_EQ(Load(stored[2]), RandomBytes(4 * unit, 5));
  EXPECT_EQ(tier->usage().stored_bytes, 16 * unit);
}

TEST_P(TierConformanceTest, NoRoomSaysWhatToDo) {
  const std::unique_ptr<Tier> tier = Make(4 * kMiB);
  const StoredBuffer half = Store(*tier, RandomBytes(2 * kMiB, 1));
  const Bytes large = RandomBytes(3 * kMiB, 2);
  TierError error;
  EXPECT_EQ(TryStore(*tier, large.data(), 3 * kMiB, &error).tier(), nullptr);
  EXPECT_EQ(error.kind, TierError::Kind::kFull);
  const std::string name = GetParam().name;
  for (const std::string& part :
       {"The " + name + " tier", std::string("a buffer of 3.1 MB"),
        std::string("2.1 MB of its 4.2 MB"), name + ":SIZE"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
  EXPECT_EQ(tier->usage().taken_bytes, 2 * kMiB);
}

TEST_P(TierConformanceTest, AWriteGivenUpGivesBackWhatItTook) {
  const Bytes source = ReluBytes(40 * kMiB, 1);
  const auto bytes = static_cast<int64_t>(source.size());
  for (int chunks = 0; chunks <= 2; ++chunks) {
    TierError error;
    std::unique_ptr<TierWrite> write =
        tier_->BeginWrite(source.data(), bytes, &error);
    ASSERT_NE(write, nullptr);
    for (int i = 0; i < chunks; ++i) {
      ASSERT_EQ(write->CopyChunk(&error), TierCopy::Progress::kMore);
    }
    EXPECT_EQ(tier_->usage().stored_bytes, 0);
    write.reset();
    EXPECT_EQ(tier_->usage().taken_bytes, 0);
  }
  // Also one that is done, and that nobody took.
  TierError error;
  EXPECT_TRUE(CopyAll(*tier_->BeginWrite(source.data(), bytes, &error)).ok());
  EXPECT_EQ(tier_->usage().taken_bytes, 0);
}

TEST_P(TierConformanceTest, AReadGivenUpLeavesTheBuffer) {
  const Bytes source = ReluBytes(40 * kMiB, 1);
  const StoredBuffer stored = Store(*tier_, source);
  const TierUsage before = tier_->usage();
  Bytes destination(source.size());
  TierError error;
  std::unique_ptr<TierCopy> read = tier_->BeginRead(stored, destination.data());
  ASSERT_EQ(read->CopyChunk(&error), TierCopy::Progress::kMore);
  read.reset();
  EXPECT_EQ(tier_->usage().taken_bytes, before.taken_bytes);
  EXPECT_TRUE(Load(stored) == source);
}

TEST_P(TierConformanceTest, FreeSpaceIsReleasedBetweenBuffers) {
  const Bytes kept = RandomBytes(5000, 2);
  const StoredBuffer before = Store(*tier_, kept);
  StoredBuffer freed = Store(*tier_, RandomBytes(20 * kMiB, 1));
  const StoredBuffer after = Store(*tier_, kept);
  freed = StoredBuffer();
  tier_->ReleaseFreeSpace();
  EXPECT_EQ(Load(before), kept);
  EXPECT_EQ(Load(after), kept);
  EXPECT_TRUE(Load(Store(*tier_, RandomBytes(20 * kMiB, 3))) ==
              RandomBytes(20 * kMiB, 3));
}

// Small buffers, so that threads meet; sizes around what is rounded to.
TEST_P(TierConformanceTest, ManyThreadsStoreLoadFreeAndRelease) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      std::minstd_rand random(t + 1);
      std::vector<std::pair<StoredBuffer, uint32_t>> held;
      for (uint32_t i = 0; i < 120; ++i) {
        const uint32_t seed = t * 1000 + i;
        const int64_t bytes = static_cast<int64_t>(random()) % 50000;
        held.emplace_back(Store(*tier_, ReluBytes(bytes, seed)), seed);
        if (i % 40 == static_cast<uint32_t>(t)) tier_->ReleaseFreeSpace();
        if (random() % 2 == 0) continue;
        const size_t chosen = random() % held.size();
        const auto& [stored, of_seed] = held[chosen];
        ASSERT_TRUE(Load(stored) == ReluBytes(stored.bytes(), of_seed));
        held.erase(held.begin() + static_cast<int64_t>(chosen));
      }
      for (const auto& [stored, seed] : held) {
        ASSERT_TRUE(Load(stored) == ReluBytes(stored.bytes(), seed));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tier_->usage().taken_bytes, 0);
  EXPECT_EQ(tier_->usage().stored_bytes, 0);
}

// A full tier refuses, and nothing else: no buffer of another thread suffers.
TEST_P(TierConformanceTest, ManyThreadsAtTheLimit) {
  const std::unique_ptr<Tier> tier = Make(kMiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&tier, t] {
      std::vector<StoredBuffer> held;
      const Bytes source = ReluBytes(150000, t);
      for (int i = 0; i < 60; ++i) {
        TierError error;
        StoredBuffer stored = TryStore(
            *tier, source.data(), static_cast<int64_t>(source.size()), &error);
        if (error.ok()) {
          held.push_back(std::move(stored));
          continue;
        }
        ASSERT_EQ(error.kind, TierError::Kind::kFull);
        for (const StoredBuffer& buffer : held) {
          ASSERT_TRUE(Load(buffer) == source);
        }
        held.clear();
        if (i % 8 == t) tier->ReleaseFreeSpace();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(tier->usage().taken_bytes, tier->usage().limit_bytes);
  EXPECT_EQ(tier->usage().taken_bytes, 0);
}

template <typename MemoryTier>
std::unique_ptr<Tier> MakeInMemory(int64_t limit_bytes) {
  return std::make_unique<MemoryTier>(limit_bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Tiers, TierConformanceTest,
    testing::Values(Kind{"host", 64, MakeInMemory<HostTier>},
                    Kind{"compressed", 64, MakeInMemory<CompressedTier>},
                    Kind{"file", SwapFile::kBlockBytes, MakeFile}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace sn_tf
