// SPDX-License-Identifier: Apache-2.0
//
// What happens when an allocation would pass the budget: the CPU arena and the
// pool, joined as they are in the library.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <utility>

#include "cc/allocator/arena_allocator.h"
#include "cc/pool/pool.h"
#include "cc/pool/transfer_queue.h"
#include "cc/pool/transfer_stats.h"
#include "tests/cc/scripted_copy.h"

namespace sn_tf {
namespace {

constexpr int64_t kBlockBytes = 1 << 20;

// A block of the arena that some tier has a copy of.
class StoredBlock : public Evictable {
 public:
  explicit StoredBlock(void* block) : block_(block) {}

  int64_t bytes() const override { return kBlockBytes; }
  bool IsLocked() const override { return locked; }
  Eviction Evict() override {
    CpuArena()->DeallocateRaw(block_);
    return Eviction::kFreed;
  }

  bool locked = false;

 private:
  void* const block_;
};

// In a budget that one block fills.
class MemoryPressureTest : public testing::Test {
 protected:
  MemoryPressureTest() {
    EXPECT_EQ(CpuArena()->SetBudget(CpuArena()->stats().arena.in_use_bytes +
                                    kBlockBytes),
              "");
    block_ = Allocate();
    EXPECT_NE(block_, nullptr);
  }
  ~MemoryPressureTest() override { CpuArena()->SetBudget(0); }

  static void* Allocate() { return CpuArena()->AllocateRaw(64, kBlockBytes); }

  void* block_ = nullptr;
  TransferQueue queue_{"test", &CpuTraffic().leaving};
};

TEST_F(MemoryPressureTest, AnAllocationWaitsForTheCopyThatFreesItsMemory) {
  const double stalled_before = CpuTransferStats().stall_seconds;
  std::promise<void> gate;
  Transfer transfer;
  transfer.bytes = kBlockBytes;
  transfer.copy = CopyOf(1, [&gate](int) { gate.get_future().wait(); });
  transfer.done = [block = block_](TierCopy*, const TierError&) {
    CpuArena()->DeallocateRaw(block);
  };
  queue_.Push(std::move(transfer));
  std::future<void*> second = std::async(std::launch::async, Allocate);
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)),
            std::future_status::timeout);
  gate.set_value();
  void* const block = second.get();
  ASSERT_NE(block, nullptr);
  CpuArena()->DeallocateRaw(block);
  EXPECT_GT(CpuTransferStats().stall_seconds, stalled_before);
}

TEST_F(MemoryPressureTest, WithNothingUnderWayTheAllocationFails) {
  EXPECT_EQ(Allocate(), nullptr);
  CpuArena()->DeallocateRaw(block_);
}

TEST_F(MemoryPressureTest, CopiesThatFreeTooLittleDoNotHelp) {
  for (int i = 0; i < 3; ++i) {
    Transfer transfer;
    transfer.copy = CopyOf(1);
    transfer.done = [](TierCopy*, const TierError&) {};
    queue_.Push(std::move(transfer));
  }
  EXPECT_EQ(Allocate(), nullptr);
  CpuArena()->DeallocateRaw(block_);
}

TEST_F(MemoryPressureTest, TheTensorCacheMakesRoom) {
  const int64_t evictions_before = CpuTransferStats().cache.evictions;
  const auto cached = std::make_shared<StoredBlock>(block_);
  CpuTraffic().cache.Insert(cached);
  cached->locked = true;
  EXPECT_EQ(Allocate(), nullptr);
  cached->locked = false;
  void* const block = Allocate();
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(CpuTransferStats().cache.evictions, evictions_before + 1);
  CpuArena()->DeallocateRaw(block);
}

TEST_F(MemoryPressureTest, WhoCanDoWithoutEvictsNothing) {
  const auto cached = std::make_shared<StoredBlock>(block_);
  CpuTraffic().cache.Insert(cached);
  tsl::AllocationAttributes if_there_is_any;
  if_there_is_any.retry_on_failure = false;
  EXPECT_EQ(CpuArena()->AllocateRaw(64, kBlockBytes, if_there_is_any), nullptr);
  CpuTraffic().cache.Erase(cached.get());
  CpuArena()->DeallocateRaw(block_);
}

}  // namespace
}  // namespace sn_tf
