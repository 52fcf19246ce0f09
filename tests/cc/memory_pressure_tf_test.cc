// SPDX-License-Identifier: Apache-2.0
//
// What happens when an allocation would pass the budget: the CPU arena and the
// pool, joined as they are in the library.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <utility>

#include "cc/allocator/arena_allocator.h"
#include "cc/pool/pool.h"
#include "cc/pool/transfer_stats.h"

namespace sn_tf {
namespace {

constexpr int64_t kBlockBytes = 1 << 20;

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
};

TEST_F(MemoryPressureTest, AnAllocationWaitsForTheCopyThatFreesItsMemory) {
  const double stalled_before = CpuTransferStats().stall_seconds;
  std::promise<void> gate;
  Transfer transfer;
  transfer.copy = [open = gate.get_future().share()] {
    open.wait();
    return std::string();
  };
  transfer.done = [block = block_](const std::string&) {
    CpuArena()->DeallocateRaw(block);
  };
  HostLink().out.Push(std::move(transfer));
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
    transfer.copy = [] { return std::string(); };
    transfer.done = [](const std::string&) {};
    HostLink().out.Push(std::move(transfer));
  }
  EXPECT_EQ(Allocate(), nullptr);
  CpuArena()->DeallocateRaw(block_);
}

}  // namespace
}  // namespace sn_tf
