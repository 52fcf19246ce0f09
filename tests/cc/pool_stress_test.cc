// SPDX-License-Identifier: Apache-2.0
//
// Many threads store, load, hurry, cancel and abandon buffers of a device whose
// memory is short, over all tiers, with faults. Every byte that comes back is
// right, or there is an error; and in the end nothing is left anywhere.
//
// SN_TF_STRESS_SECONDS makes it go on for that long.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/pool/compressed_tier.h"
#include "cc/pool/file_tier.h"
#include "cc/pool/host_tier.h"
#include "cc/pool/swap_file.h"
#include "cc/pool/unified_pool.h"
#include "tests/cc/flaky_tier.h"
#include "tests/cc/stress_buffer.h"

namespace sn_tf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kKiB = 1 << 10;
constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kBudgetBytes = 3 * kMiB;
constexpr int64_t kHostBytes = kMiB / 2;
constexpr int64_t kCompressedBytes = kMiB / 2;
constexpr int64_t kFileBytes = 256 * kMiB;
constexpr int kThreads = 4;
constexpr size_t kBuffersOfThread = 24;
constexpr int kActionsOfThread = 200;
constexpr int kRounds = 5;

std::unique_ptr<Tier> MakeFile(const FaultRates& rates, uint32_t seed) {
  TierError error;
  std::unique_ptr<SwapFile> file = SwapFile::Create(
      testing::TempDir(), std::make_unique<FlakyFileIo>(rates, seed), &error);
  EXPECT_EQ(error.message, "");
  return std::make_unique<FileTier>(std::move(file), kFileBytes);
}

// Where reads may be wrong without an error, the pool compares checksums; the
// file tier has its own.
std::vector<PoolTier> MakeTiers(const FaultRates& rates, uint32_t seed) {
  FaultRates above_file = rates;
  above_file.corrupts = 0;
  std::vector<PoolTier> tiers(3);
  tiers[0].tier = std::make_unique<FlakyTier>(
      std::make_unique<HostTier>(kHostBytes), rates, seed);
  tiers[1].tier = std::make_unique<FlakyTier>(
      std::make_unique<CompressedTier>(kCompressedBytes), rates, seed + 1);
  tiers[2].tier = std::make_unique<FlakyTier>(MakeFile(rates, seed + 2),
                                              above_file, seed + 3);
  for (PoolTier& tier : tiers) tier.checked = rates.corrupts > 0;
  return tiers;
}

// Mostly small, some of several chunks, and odd.
int64_t RandomSize(std::minstd_rand* random) {
  switch ((*random)() % 64) {
    case 0:
      return 0;
    case 1:
      return kMiB + static_cast<int64_t>((*random)() % (2 * kMiB));
    case 2:
    case 3:
    case 4:
    case 5:
      return static_cast<int64_t>((*random)() % (512 * kKiB));
    default:
      return static_cast<int64_t>((*random)() % (32 * kKiB));
  }
}

class Round {
 public:
  Round(const FaultRates& rates, uint32_t seed)
      : seed_(seed), pool_(MakeTiers(rates, seed), &device_.leaving) {}

  void Run() {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t] { Act(t); });
    }
    for (std::thread& thread : threads) thread.join();
    shared_.clear();
    ExpectNothingLeft();
  }

  const StressCounts& counts() const { return counts_; }
  StressDevice& device() { return device_; }
  UnifiedPool& pool() { return pool_; }

 private:
  using BufferPtr = std::shared_ptr<StressBuffer>;

  // nullptr where there is no memory.
  BufferPtr MakeBuffer(uint64_t seed, int64_t bytes, uint64_t* seen) {
    std::optional<StressDevice::Block> block = device_.Allocate(bytes, seen);
    if (!block.has_value()) return nullptr;
    auto buffer = std::make_shared<StressBuffer>(
        &device_, &pool_, &counts_, seed, bytes, *std::move(block));
    device_.cache.Insert(buffer);
    return buffer;
  }

  void Act(int thread) {
    std::minstd_rand random(seed_ * 31 + static_cast<uint32_t>(thread) + 1);
    uint64_t seen = 0;
    uint64_t made = 0;
    std::vector<BufferPtr> mine;
    for (int action = 0; action < kActionsOfThread; ++action) {
      const uint64_t seed = (made++ * kThreads + thread) << 24;
      if (mine.size() < kBuffersOfThread) {
        BufferPtr buffer = MakeBuffer(seed, RandomSize(&random), &seen);
        if (buffer != nullptr) {
          mine.push_back(std::move(buffer));
          continue;
        }
        if (mine.empty()) continue;
      }
      BufferPtr& buffer = mine[random() % mine.size()];
      if (random() % 4 == 0) Share(&buffer, &random);
      if (!ActOn(buffer, &random, &seen)) {
        std::swap(buffer, mine.back());
        mine.pop_back();
      }
    }
  }

  // Exchanges it for another thread's.
  void Share(BufferPtr* buffer, std::minstd_rand* random) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (shared_.size() < kBuffersOfThread) {
      shared_.push_back(*buffer);
    } else {
      shared_[(*random)() % shared_.size()].swap(*buffer);
    }
  }

  // False where it is to be let go of.
  static bool ActOn(const BufferPtr& buffer, std::minstd_rand* random,
                    uint64_t* seen) {
    switch ((*random)() % 12) {
      case 0:
        return false;  // Abandoned, whatever it is doing.
      case 1:
      case 2:
        buffer->Evict();
        return (*random)() % 4 > 0;
      case 3:
        buffer->Hurry();
        return true;
      case 4:
        buffer->Cancel();
        return (*random)() % 2 > 0;
      case 5:
        buffer->Prefetch(seen);
        return (*random)() % 4 > 0;
      default:
        return buffer->Use(seen);
    }
  }

  void ExpectNothingLeft() {
    // What nobody waits for ends by itself.
    const Clock::time_point deadline = Clock::now() + std::chrono::minutes(2);
    while (counts_.live > 0 && Clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    uint64_t seen = 0;
    while (device_.leaving.Wait(&seen, std::chrono::seconds(60))) {
    }
    EXPECT_EQ(counts_.live, 0);
    EXPECT_EQ(device_.in_use_bytes(), 0);
    EXPECT_EQ(device_.leaving.pending_bytes(), 0);
    EXPECT_EQ(device_.cache.stats().cached_bytes, 0);
    EXPECT_EQ(device_.cache.immovable().refused_buffers, 0);
    for (const PoolTierStats& tier : pool_.stats()) {
      EXPECT_EQ(tier.usage.taken_bytes, 0) << tier.name;
      EXPECT_EQ(tier.usage.stored_bytes, 0) << tier.name;
    }
  }

  const uint32_t seed_;
  StressDevice device_{kBudgetBytes};
  StressCounts counts_;
  UnifiedPool pool_;
  std::mutex mutex_;
  std::vector<BufferPtr> shared_;
};

// Runs rounds until the time is over, and at least so many.
template <typename Function>
void ForSomeRounds(const Function& round) {
  const char* const text = std::getenv("SN_TF_STRESS_SECONDS");
  const std::chrono::seconds time(text != nullptr ? std::atoi(text) / 2 : 0);
  const Clock::time_point end = Clock::now() + time;
  uint32_t seed = 0;
  for (; seed < kRounds || Clock::now() < end; ++seed) {
    round(seed);
    if (testing::Test::HasFailure()) break;
  }
  testing::Test::RecordProperty("rounds", static_cast<int>(seed));
}

TEST(PoolStressTest, WithoutFaultsEverythingComesBack) {
  int64_t right = 0;
  int64_t evictions = 0;
  std::vector<int64_t> in_bytes(3);
  ForSomeRounds([&](uint32_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Round round({}, seed);
    round.Run();
    EXPECT_EQ(round.counts().wrong, 0);
    EXPECT_EQ(round.counts().lost, 0);
    right += round.counts().right;
    evictions += round.device().cache.stats().evictions;
    const std::vector<PoolTierStats> stats = round.pool().stats();
    for (size_t t = 0; t < stats.size(); ++t) {
      EXPECT_EQ(stats[t].faults, 0) << stats[t].name;
      in_bytes[t] += stats[t].in_bytes;
    }
  });
  EXPECT_GT(right, 0);
  EXPECT_GT(evictions, 0);
  for (const int64_t bytes : in_bytes) EXPECT_GT(bytes, 0);
}

TEST(PoolStressTest, WithFaultsNothingWrongComesBack) {
  const FaultRates rates = {/*fails=*/60, /*full=*/40, /*corrupts=*/40};
  int64_t right = 0;
  int64_t faults = 0;
  ForSomeRounds([&](uint32_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Round round(rates, seed);
    round.Run();
    EXPECT_EQ(round.counts().wrong, 0);
    right += round.counts().right;
    for (const PoolTierStats& tier : round.pool().stats()) {
      faults += tier.faults;
    }
  });
  EXPECT_GT(right, 0);
  EXPECT_GT(faults, 0);
}

}  // namespace
}  // namespace sn_tf
