// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/host_tier.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/core/address_range.h"

namespace sn_tf {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

using Bytes = std::vector<uint8_t>;

Bytes Filled(int64_t bytes, int seed) {
  Bytes result(bytes);
  for (int64_t i = 0; i < bytes; ++i) {
    result[i] = static_cast<uint8_t>(i * 31 + (i >> 8) + seed);
  }
  return result;
}

// Store and Load, waited for. Fails the test on an error.
StoredBuffer Store(HostTier& tier, const Bytes& source) {
  std::promise<StoredBuffer> stored;
  tier.Store(source.data(), static_cast<int64_t>(source.size()),
             [&stored](StoredBuffer buffer, const std::string& error) {
               EXPECT_EQ(error, "");
               stored.set_value(std::move(buffer));
             });
  return stored.get_future().get();
}

Bytes Load(HostTier& tier, const StoredBuffer& stored) {
  Bytes destination(stored.bytes());
  std::promise<std::string> error;
  tier.Load(stored, destination.data(),
            [&error](const std::string& message) { error.set_value(message); });
  EXPECT_EQ(error.get_future().get(), "");
  return destination;
}

int64_t ResidentSetBytes() {
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * AddressRange::PageBytes();
}

class HostTierTest : public testing::Test {
 protected:
  Link link_{"test"};
  HostTier tier_{&link_, 256 * kMiB};
};

TEST_F(HostTierTest, BuffersComeBackAsTheyWere) {
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{64},
                              int64_t{65}, int64_t{4097}, 3 * kMiB + 5}) {
    const Bytes source = Filled(bytes, 1);
    const StoredBuffer stored = Store(tier_, source);
    EXPECT_EQ(stored.bytes(), bytes);
    EXPECT_EQ(Load(tier_, stored), source);
  }
}

TEST_F(HostTierTest, ABufferCanBeLoadedRepeatedly) {
  const Bytes source = Filled(10000, 2);
  const StoredBuffer stored = Store(tier_, source);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Load(tier_, stored), source);
}

TEST_F(HostTierTest, StorageIsFreedWithItsOwner) {
  {
    const StoredBuffer a = Store(tier_, Filled(1000, 1));
    EXPECT_EQ(tier_.in_use_bytes(), 1024);
    const StoredBuffer b = Store(tier_, Filled(64, 2));
    EXPECT_EQ(tier_.in_use_bytes(), 1024 + 64);
  }
  EXPECT_EQ(tier_.in_use_bytes(), 0);
}

TEST_F(HostTierTest, MovingHandsTheStorageOn) {
  StoredBuffer a = Store(tier_, Filled(64, 1));
  StoredBuffer b = Store(tier_, Filled(128, 2));
  b = std::move(a);  // Frees what b had.
  EXPECT_EQ(tier_.in_use_bytes(), 64);
  EXPECT_EQ(a.tier(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(Load(tier_, b), Filled(64, 1));
  StoredBuffer& same = b;
  b = std::move(same);
  EXPECT_EQ(tier_.in_use_bytes(), 64);
  const StoredBuffer c(std::move(b));
  EXPECT_EQ(tier_.in_use_bytes(), 64);
  EXPECT_EQ(Load(tier_, c), Filled(64, 1));
}

TEST_F(HostTierTest, StoreReturnsBeforeTheCopy) {
  std::promise<void> gate;
  Transfer first;
  first.copy = [open = gate.get_future().share()] {
    open.wait();
    return std::string();
  };
  first.done = [](const std::string&) {};
  link_.out.Push(std::move(first));
  const Bytes source = Filled(1000, 1);
  std::promise<StoredBuffer> stored;
  auto result = stored.get_future();
  tier_.Store(source.data(), 1000,
              [&stored](StoredBuffer buffer, const std::string&) {
                stored.set_value(std::move(buffer));
              });
  EXPECT_EQ(result.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
  gate.set_value();
  EXPECT_EQ(Load(tier_, result.get()), source);
}

TEST_F(HostTierTest, NoRoomIsAnErrorThatSaysWhatToDo) {
  HostTier tier(&link_, 4 * kMiB);
  const StoredBuffer half = Store(tier, Filled(2 * kMiB, 1));
  std::string received;
  // Read by nobody: the error comes first.
  tier.Store(nullptr, 3 * kMiB,
             [&received](StoredBuffer buffer, const std::string& error) {
               EXPECT_EQ(buffer.tier(), nullptr);
               received = error;
             });
  EXPECT_NE(received.find("no room for a buffer of 3.1 MB"), std::string::npos)
      << received;
  EXPECT_NE(received.find("2.1 MB of its 4.2 MB"), std::string::npos)
      << received;
  EXPECT_NE(received.find("ulimit -v"), std::string::npos) << received;
  EXPECT_EQ(tier.in_use_bytes(), 2 * kMiB);
}

TEST_F(HostTierTest, PagesStayWarmUntilTheyAreReleased) {
  const Bytes source(64 * kMiB, 7);
  const Bytes kept = Filled(5000, 2);
  const StoredBuffer before = Store(tier_, kept);
  StoredBuffer freed = Store(tier_, source);
  const StoredBuffer after = Store(tier_, kept);
  const int64_t full = ResidentSetBytes();
  freed = StoredBuffer();
  EXPECT_GT(ResidentSetBytes(), full - 8 * kMiB);
  tier_.ReleaseFreePages();
  EXPECT_LT(ResidentSetBytes(), full - 56 * kMiB);
  EXPECT_EQ(Load(tier_, before), kept);
  EXPECT_EQ(Load(tier_, after), kept);
  EXPECT_EQ(Load(tier_, Store(tier_, source)), source);
}

TEST_F(HostTierTest, ManyThreadsStoreLoadAndRelease) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        const Bytes source = Filled(1000 + 777 * i, t * 50 + i);
        const StoredBuffer stored = Store(tier_, source);
        if (i % 10 == t) tier_.ReleaseFreePages();
        ASSERT_EQ(Load(tier_, stored), source);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tier_.in_use_bytes(), 0);
}

}  // namespace
}  // namespace sn_tf
