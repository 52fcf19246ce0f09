// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/refusal_sink.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "cc/allocator/arena_allocator.h"
#include "tsl/profiler/lib/scoped_memory_debug_annotation.h"

namespace sn_tf {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class RefusalSinkTest : public testing::Test {
 protected:
  ArenaAllocator allocator_{"test", 64 * kMiB};
};

TEST_F(RefusalSinkTest, TheSinkTakesWhatHasNoRoom) {
  ASSERT_EQ(allocator_.SetBudget(kMiB), "");
  allocator_.OpenSink(42);
  EXPECT_EQ(allocator_.AllocateRaw(64, 2 * kMiB), nullptr) << "no such step";
  allocator_.StartTrace();
  void* block;
  {
    tsl::profiler::ScopedMemoryDebugAnnotation annotation(
        "conv1", 42, "output", 1, [] { return std::string("[2,3]"); });
    block = allocator_.AllocateRaw(64, 2 * kMiB);
  }
  ASSERT_NE(block, nullptr);
  std::memset(block, 1, 2 * kMiB);
  EXPECT_EQ(allocator_.AllocatedSize(block), static_cast<size_t>(2 * kMiB));
  EXPECT_EQ(allocator_.stats().arena.in_use_bytes, 0);
  const std::optional<Refusal> refusal = allocator_.CloseSink(42);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->op, "conv1");
  EXPECT_EQ(refusal->bytes, 2 * kMiB);
  EXPECT_EQ(refusal->budget_bytes, kMiB);
  allocator_.DeallocateRaw(block);
  const std::vector<AllocationEvent> events = allocator_.StopTrace();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, AllocationEvent::Kind::kAllocate);
  EXPECT_EQ(events[1].kind, AllocationEvent::Kind::kFree);
  EXPECT_EQ(events[1].id, events[0].id);
  EXPECT_EQ(allocator_.AllocateRaw(64, 2 * kMiB), nullptr) << "closed";
  EXPECT_FALSE(allocator_.CloseSink(42).has_value());
}

// A dataset or a list that reads back as another one's bytes ends the process.
TEST_F(RefusalSinkTest, ReferencesAndSmallBlocksAreKept) {
  constexpr int kFloat = 1;
  constexpr int kVariant = 21;
  const auto take = [this](int dtype, int64_t bytes) {
    tsl::profiler::ScopedMemoryDebugAnnotation annotation(
        "op", 42, "output", dtype, [] { return std::string("[]"); });
    return static_cast<char*>(allocator_.AllocateRaw(64, bytes));
  };
  void* const all = allocator_.AllocateRaw(64, kMiB);
  ASSERT_EQ(allocator_.SetBudget(kMiB), "");
  allocator_.OpenSink(42);
  std::vector<char*> kept;
  for (char value = 1; value <= 3; ++value) {
    kept.push_back(take(kVariant, kMiB));
    kept.push_back(take(kFloat, RefusalSink::kLeastBytes - 64));
    kept.push_back(take(kVariant, 64));
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    ASSERT_NE(kept[i], nullptr);
    *kept[i] = static_cast<char>(i + 1);
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(*kept[i], static_cast<char>(i + 1));
  }
  EXPECT_TRUE(allocator_.CloseSink(42).has_value());
  for (char* const block : kept) allocator_.DeallocateRaw(block);
  allocator_.DeallocateRaw(all);
}

TEST_F(RefusalSinkTest, TraceTellsWhoWasRefused) {
  ASSERT_EQ(allocator_.SetBudget(kMiB), "");
  allocator_.StartTrace();
  {
    tsl::profiler::ScopedMemoryDebugAnnotation annotation(
        "conv1", 42, "temp", 1, [] { return std::string("[2,3]"); });
    EXPECT_EQ(allocator_.AllocateRaw(64, 2 * kMiB), nullptr);
  }
  const std::vector<AllocationEvent> events = allocator_.StopTrace();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, AllocationEvent::Kind::kRefused);
  EXPECT_EQ(events[0].op, "conv1");
  EXPECT_EQ(events[0].region, AllocationEvent::Region::kTemp);
  EXPECT_EQ(events[0].bytes, 2 * kMiB);
}

TEST_F(RefusalSinkTest, OfAThreadItIsOpenForThatAllocatorOnly) {
  ASSERT_EQ(allocator_.SetBudget(kMiB), "");
  ArenaAllocator other("other", 64 * kMiB);
  ASSERT_EQ(other.SetBudget(kMiB), "");
  void* block;
  {
    const RefusalSink::OfThread sink(allocator_.sink());
    EXPECT_FALSE(sink.first().has_value());
    EXPECT_EQ(other.AllocateRaw(64, 2 * kMiB), nullptr);
    block = allocator_.AllocateRaw(64, 2 * kMiB);
    ASSERT_NE(block, nullptr);
    ASSERT_TRUE(sink.first().has_value());
    EXPECT_EQ(sink.first()->bytes, 2 * kMiB);
    EXPECT_EQ(sink.first()->budget_bytes, kMiB);
  }
  EXPECT_EQ(allocator_.AllocateRaw(64, 2 * kMiB), nullptr);
  allocator_.DeallocateRaw(block);
}

TEST(RefusalSinkOfDeviceTest, MemoryThatIsAllThereIsRefusesAsABudgetDoes) {
  ArenaAllocator device("device", 64 * kMiB, tsl::AllocatorMemoryType::kDevice);
  ArenaAllocator host("host", 64 * kMiB);
  for (ArenaAllocator* const allocator : {&device, &host}) {
    const RefusalSink::OfThread sink(allocator->sink());
    void* const block =
        allocator->AllocateRaw(64, allocator->range_bytes() + kMiB);
    EXPECT_EQ(block != nullptr, allocator == &device);
    EXPECT_EQ(sink.first().has_value(), allocator == &device);
    allocator->DeallocateRaw(block);
  }
}

TEST(RefusalSinkOfDeviceTest, TellsWhetherAsMuchWasFreeInPieces) {
  ArenaAllocator device("device", 64 * kMiB, tsl::AllocatorMemoryType::kDevice);
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(device.AllocateRaw(64, 16 * kMiB));
  }
  device.DeallocateRaw(blocks[0]);
  device.DeallocateRaw(blocks[2]);
  for (const int64_t mib : {24, 40}) {
    const RefusalSink::OfThread sink(device.sink());
    device.DeallocateRaw(device.AllocateRaw(64, mib * kMiB));
    ASSERT_TRUE(sink.first().has_value());
    EXPECT_EQ(sink.first()->in_pieces, mib == 24);
  }
  device.DeallocateRaw(blocks[1]);
  device.DeallocateRaw(blocks[3]);
}

}  // namespace
}  // namespace sn_tf
