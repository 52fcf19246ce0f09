// SPDX-License-Identifier: Apache-2.0
//
// Which pages stay resident, and when they go back to the system.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "cc/allocator/arena_allocator.h"
#include "tests/cc/arena_allocator_fixture.h"

namespace sn_tf {
namespace {

class ArenaPagesTest : public ArenaAllocatorTest {
 protected:
  // A block whose pages are really touched.
  void* Fill(int64_t bytes) {
    void* const block = Allocate(bytes);
    if (block != nullptr) std::memset(block, 1, static_cast<size_t>(bytes));
    return block;
  }
  int64_t committed() const { return allocator_.stats().committed_bytes; }
};

TEST_F(ArenaPagesTest, FreedPagesStayWarmWithinTheBudget) {
  ASSERT_EQ(allocator_.SetBudget(32 * kMiB), "");
  for (int step = 0; step < 3; ++step) {
    void* const block = Fill(24 * kMiB);
    ASSERT_NE(block, nullptr);
    allocator_.DeallocateRaw(block);
    EXPECT_EQ(committed(), 24 * kMiB);
  }
}

TEST_F(ArenaPagesTest, PagesBeyondTheBudgetGoBack) {
  ASSERT_EQ(allocator_.SetBudget(32 * kMiB), "");
  // Small holes below, then a block that fits none of them: what is in use and
  // what is kept free would together pass it by more than an eighth.
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(Fill(4 * kMiB));
  for (int i = 0; i < 8; i += 2) allocator_.DeallocateRaw(blocks[i]);
  EXPECT_EQ(committed(), 32 * kMiB) << "still within the budget";
  void* const large = Fill(12 * kMiB);
  ASSERT_NE(large, nullptr);
  EXPECT_LE(committed(), 36 * kMiB);
  EXPECT_GE(committed(), in_use());
  for (int i = 1; i < 8; i += 2) {
    EXPECT_EQ(static_cast<char*>(blocks[i])[4 * kMiB - 1], 1);
  }
}

TEST_F(ArenaPagesTest, LoweringTheBudgetGivesPagesBack) {
  void* const block = Fill(64 * kMiB);
  allocator_.DeallocateRaw(block);
  EXPECT_EQ(committed(), 64 * kMiB) << "the recent peak stays warm";
  ASSERT_EQ(allocator_.SetBudget(16 * kMiB), "");
  EXPECT_LE(committed(), 18 * kMiB);
}

// Its memory is its own: nobody else has any use for the pages.
TEST(DeviceArenaAllocatorTest, ADeviceKeepsItsPages) {
  ArenaAllocator device("device", 64 * kMiB, tsl::AllocatorMemoryType::kDevice);
  const auto touch = [&device](int64_t bytes) {
    void* const block = device.AllocateRaw(64, bytes);
    std::memset(block, 1, bytes);
    device.DeallocateRaw(block);
    return static_cast<char*>(block);
  };
  const char* const block = touch(32 * kMiB);
  ASSERT_EQ(device.SetBudget(8 * kMiB), "");
  touch(4 * kMiB);
  EXPECT_EQ(block[32 * kMiB - 1], 1);
}

TEST_F(ArenaPagesTest, ReleaseFreePagesLeavesWhatIsInUse) {
  void* const kept = Fill(2 * kMiB);
  void* const gone = Fill(32 * kMiB);
  allocator_.DeallocateRaw(gone);
  EXPECT_EQ(allocator_.ReleaseFreePages(), 32 * kMiB);
  EXPECT_EQ(committed(), 2 * kMiB);
  EXPECT_EQ(static_cast<char*>(kept)[2 * kMiB - 1], 1);
  EXPECT_EQ(allocator_.ReleaseFreePages(), 0);
  void* const again = Allocate(32 * kMiB);
  EXPECT_EQ(static_cast<char*>(again)[0], 0) << "the pages were really gone";
  allocator_.DeallocateRaw(again);
}

TEST_F(ArenaPagesTest, GivingPagesBackIsNoReasonToRefuse) {
  std::atomic<bool> done{false};
  std::thread giver([&] {
    while (!done) allocator_.ReleaseFreePages();
  });
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    void* const block = allocator_.AllocateRaw(64, kMiB);
    if (block == nullptr) {
      ++refused;
      continue;
    }
    std::memset(block, 1, kMiB);
    allocator_.DeallocateRaw(block);
    // Time for the other thread to begin giving the block's pages back.
    std::this_thread::sleep_for(std::chrono::microseconds(i % 50));
  }
  done = true;
  giver.join();
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace sn_tf
