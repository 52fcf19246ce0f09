// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/arena_allocator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/cc/arena_allocator_fixture.h"
#include "tsl/profiler/lib/scoped_memory_debug_annotation.h"
#include "xla/tsl/framework/allocator_registry.h"

namespace sn_tf {
namespace {

TEST_F(ArenaAllocatorTest, AllocatesUsableAlignedMemory) {
  for (const size_t alignment : {1u, 64u, 256u, 4096u, 2u << 20}) {
    void* const block = allocator_.AllocateRaw(alignment, 1000);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    std::memset(block, 7, 1000);
    EXPECT_EQ(allocator_.AllocatedSize(block), 1024u);
    EXPECT_GE(allocator_.RequestedSize(block), 1000u);
    EXPECT_EQ(allocator_.AllocatedSizeSlow(block), 1024u);
    allocator_.DeallocateRaw(block);
  }
  EXPECT_EQ(in_use(), 0);
}

TEST_F(ArenaAllocatorTest, FreeingNullDoesNothing) {
  allocator_.DeallocateRaw(nullptr);
  EXPECT_EQ(in_use(), 0);
}

TEST_F(ArenaAllocatorTest, ImpossibleRequestsReturnNull) {
  EXPECT_EQ(allocator_.AllocateRaw(64, SIZE_MAX), nullptr);
  EXPECT_EQ(allocator_.AllocateRaw(64, kRangeBytes + 1), nullptr);
  EXPECT_EQ(allocator_.AllocateRaw(size_t{1} << 40, 64), nullptr);
  EXPECT_EQ(allocator_.stats().arena.allocations, 0);
}

TEST_F(ArenaAllocatorTest, BudgetIsHard) {
  EXPECT_EQ(allocator_.SetBudget(4 * kMiB), "");
  void* const most = Allocate(4 * kMiB - 64);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(Allocate(65), nullptr);
  void* const last = Allocate(64);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(Allocate(1), nullptr);
  EXPECT_EQ(in_use(), 4 * kMiB);
  allocator_.DeallocateRaw(last);
  EXPECT_NE(Allocate(1), nullptr);
  EXPECT_EQ(allocator_.stats().arena.peak_bytes, 4 * kMiB);
}

TEST_F(ArenaAllocatorTest, BudgetMayBeRaisedLoweredAndLifted) {
  ASSERT_NE(Allocate(2 * kMiB), nullptr);
  EXPECT_EQ(allocator_.SetBudget(3 * kMiB), "");
  EXPECT_EQ(Allocate(2 * kMiB), nullptr);
  EXPECT_EQ(allocator_.SetBudget(2 * kMiB), "") << "exactly what is in use";
  const std::string refused = allocator_.SetBudget(2 * kMiB - 1);
  EXPECT_NE(refused.find("2.1 MB (2097152 bytes) are in use"),
            std::string::npos)
      << refused;
  EXPECT_EQ(allocator_.stats().budget_bytes, 2 * kMiB) << "unchanged";
  EXPECT_NE(allocator_.SetBudget(-1).find("Received: -1"), std::string::npos);
  EXPECT_EQ(allocator_.SetBudget(0), "");
  EXPECT_NE(Allocate(100 * kMiB), nullptr);
}

TEST_F(ArenaAllocatorTest, PressureCallbackMakesRoom) {
  ASSERT_EQ(allocator_.SetBudget(4 * kMiB), "");
  std::vector<void*> evictable = {Allocate(kMiB), Allocate(kMiB),
                                  Allocate(kMiB), Allocate(kMiB)};
  std::vector<int64_t> asked;
  allocator_.SetPressureCallback([&](int64_t needed) {
    asked.push_back(needed);
    if (evictable.empty()) return false;
    allocator_.DeallocateRaw(evictable.back());
    evictable.pop_back();
    return true;
  });
  EXPECT_NE(Allocate(2 * kMiB), nullptr);
  EXPECT_EQ(asked, (std::vector<int64_t>{2 * kMiB, kMiB}));
  asked.clear();
  EXPECT_EQ(Allocate(3 * kMiB), nullptr);
  EXPECT_EQ(asked, (std::vector<int64_t>{3 * kMiB, 2 * kMiB, kMiB}));
  allocator_.SetPressureCallback(nullptr);
  asked.clear();
  EXPECT_EQ(Allocate(3 * kMiB), nullptr);
  EXPECT_TRUE(asked.empty());
}

TEST_F(ArenaAllocatorTest, CallbackThatLiesIsAskedBoundedly) {
  ASSERT_EQ(allocator_.SetBudget(kMiB), "");
  int asked = 0;
  allocator_.SetPressureCallback([&](int64_t) {
    ++asked;
    return true;
  });
  EXPECT_EQ(Allocate(2 * kMiB), nullptr);
  EXPECT_GT(asked, 1);
  EXPECT_LT(asked, 10000);
}

TEST_F(ArenaAllocatorTest, OptionalAllocationsCauseNoPressure) {
  ASSERT_EQ(allocator_.SetBudget(kMiB), "");
  int asked = 0;
  allocator_.SetPressureCallback([&](int64_t) {
    ++asked;
    return false;
  });
  tsl::AllocationAttributes attributes;
  attributes.retry_on_failure = false;
  EXPECT_EQ(allocator_.AllocateRaw(64, 2 * kMiB, attributes), nullptr);
  EXPECT_EQ(asked, 0);
  attributes.retry_on_failure = true;
  EXPECT_EQ(allocator_.AllocateRaw(64, 2 * kMiB, attributes), nullptr);
  EXPECT_EQ(asked, 1);
}

TEST_F(ArenaAllocatorTest, ResidentIsWhatWasInUseAtTheStepsBegin) {
  void* const weights = Allocate(kMiB);
  EXPECT_EQ(allocator_.stats().resident_bytes, kMiB) << "no step yet";
  allocator_.MarkStepBegin();
  void* const activation = Allocate(kMiB);
  EXPECT_EQ(allocator_.stats().resident_bytes, kMiB);
  EXPECT_EQ(in_use(), 2 * kMiB);
  allocator_.DeallocateRaw(activation);
  allocator_.DeallocateRaw(weights);
  EXPECT_EQ(allocator_.stats().resident_bytes, kMiB);
}

TEST_F(ArenaAllocatorTest, TensorFlowStatistics) {
  ASSERT_EQ(allocator_.SetBudget(8 * kMiB), "");
  void* const large = Allocate(4 * kMiB);
  Allocate(kMiB);
  allocator_.DeallocateRaw(large);
  std::optional<tsl::AllocatorStats> stats = allocator_.GetStats();
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->num_allocs, 2);
  EXPECT_EQ(stats->bytes_in_use, kMiB);
  EXPECT_EQ(stats->peak_bytes_in_use, 5 * kMiB);
  EXPECT_EQ(stats->largest_alloc_size, 4 * kMiB);
  EXPECT_EQ(stats->bytes_limit, 8 * kMiB);
  EXPECT_TRUE(allocator_.ClearStats());
  stats = allocator_.GetStats();
  EXPECT_EQ(stats->peak_bytes_in_use, kMiB);
  EXPECT_EQ(stats->largest_alloc_size, 0);
}

TEST_F(ArenaAllocatorTest, TraceTellsWhoAllocates) {
  void* const before = Allocate(64);
  allocator_.StartTrace();
  void* block;
  {
    tsl::profiler::ScopedMemoryDebugAnnotation annotation(
        "conv1", 42, "output", 1, [] { return std::string("[2,3]"); });
    block = Allocate(100);
  }
  void* const anonymous = Allocate(1);
  allocator_.DeallocateRaw(before);
  allocator_.DeallocateRaw(block);
  const std::vector<AllocationEvent> events = allocator_.StopTrace();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].op, "conv1");
  EXPECT_EQ(events[0].step_id, 42);
  EXPECT_EQ(events[0].region, AllocationEvent::Region::kOutput);
  EXPECT_EQ(events[0].dtype, 1);
  EXPECT_EQ(events[0].shape, "[2,3]");
  EXPECT_EQ(events[0].bytes, 128);
  EXPECT_NE(events[0].id, 0u);
  EXPECT_EQ(events[0].kind, AllocationEvent::Kind::kAllocate);
  EXPECT_EQ(events[1].op, "");
  EXPECT_NE(events[1].id, events[0].id);
  EXPECT_EQ(events[2].kind, AllocationEvent::Kind::kFree);
  EXPECT_EQ(events[2].id, 0u) << "older than the trace";
  EXPECT_EQ(events[2].bytes, 64);
  EXPECT_EQ(events[3].kind, AllocationEvent::Kind::kFree);
  EXPECT_EQ(events[3].id, events[0].id);
  EXPECT_EQ(events[3].bytes, 128);
  EXPECT_EQ(events[3].offset, events[0].offset);
  EXPECT_NE(events[1].offset, events[0].offset);
  EXPECT_LE(events[0].time_ns, events[3].time_ns);
  Allocate(1);
  EXPECT_TRUE(allocator_.StopTrace().empty()) << "not tracing";
  allocator_.DeallocateRaw(anonymous);
}

TEST_F(ArenaAllocatorTest, IdsAreNotReusedByLaterTraces) {
  std::set<uint64_t> ids;
  for (int trace = 0; trace < 3; ++trace) {
    allocator_.StartTrace();
    Allocate(1);
    Allocate(1);
    for (const AllocationEvent& event : allocator_.StopTrace()) {
      EXPECT_TRUE(ids.insert(event.id).second);
    }
  }
  EXPECT_EQ(ids.size(), 6u);
}

// One thread of ThreadsShareTheArena: fills blocks with its own byte and checks
// that nobody wrote into them.
void Churn(ArenaAllocator* allocator, int thread, std::atomic<int>* errors) {
  std::mt19937_64 random(static_cast<uint64_t>(thread));
  std::vector<std::pair<unsigned char*, size_t>> live;
  const auto mark = static_cast<unsigned char>(thread + 1);
  const auto release = [&](size_t i) {
    for (size_t at = 0; at < live[i].second; at += 61) {
      if (live[i].first[at] != mark) ++*errors;
    }
    allocator->DeallocateRaw(live[i].first);
    live[i] = live.back();
    live.pop_back();
  };
  for (int step = 0; step < 4000; ++step) {
    const size_t bytes = random() % (random() % 8 == 0 ? 400000 : 2000) + 1;
    void* const block = allocator->AllocateRaw(64, bytes);
    if (block != nullptr) {
      std::memset(block, mark, bytes);
      live.emplace_back(static_cast<unsigned char*>(block), bytes);
    }
    while (live.size() > 40 || (block == nullptr && !live.empty())) {
      release(random() % live.size());
      if (block == nullptr) break;
    }
    if (step % 500 == 0) allocator->ReleaseFreePages();
  }
  while (!live.empty()) release(live.size() - 1);
}

TEST_F(ArenaAllocatorTest, ThreadsShareTheArena) {
  ASSERT_EQ(allocator_.SetBudget(4 * kMiB), "");
  std::atomic<int> errors{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back(Churn, &allocator_, thread, &errors);
  }
  allocator_.StartTrace();
  for (std::thread& thread : threads) thread.join();
  int64_t live = 0;
  for (const AllocationEvent& event : allocator_.StopTrace()) {
    if (event.kind == AllocationEvent::Kind::kAllocate) live += event.bytes;
    if (event.kind == AllocationEvent::Kind::kFree) live -= event.bytes;
    ASSERT_LE(live, 4 * kMiB);
  }
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(in_use(), 0);
  EXPECT_LE(allocator_.stats().arena.peak_bytes, 4 * kMiB);
  EXPECT_GT(allocator_.stats().arena.allocations, 8000);
}

TEST(CpuArenaTest, BecomesTensorFlowsAllocator) {
  InstallCpuArena();
  InstallCpuArena();
  tsl::Allocator* const allocator = tsl::cpu_allocator();
  EXPECT_EQ(allocator->Name(), "sn_tf_cpu");
  const int64_t before = CpuArena()->stats().arena.in_use_bytes;
  void* const block = allocator->AllocateRaw(64, 1000);
  EXPECT_EQ(CpuArena()->stats().arena.in_use_bytes, before + 1024);
  EXPECT_EQ(allocator->AllocatedSize(block), 1024u);
  EXPECT_TRUE(allocator->GetStats().has_value());
  allocator->DeallocateRaw(block, 64, 1000);
  EXPECT_EQ(CpuArena()->stats().arena.in_use_bytes, before);

  tsl::SubAllocator* const sub =
      tsl::AllocatorFactoryRegistry::singleton()->GetSubAllocator(
          tsl::port::kNUMANoAffinity);
  size_t received = 0;
  void* const region = sub->Alloc(4096, 100000, &received);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(received, 100000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(region) % 4096, 0u);
  EXPECT_GE(CpuArena()->stats().arena.in_use_bytes, before + 100000);
  sub->Free(region, received);
  EXPECT_EQ(CpuArena()->stats().arena.in_use_bytes, before);
}

TEST_F(ArenaAllocatorTest, WaitsForWhatAnotherThreadIsAboutToFree) {
  ASSERT_EQ(allocator_.SetBudget(3 * kMiB), "");
  void* const held = allocator_.AllocateRaw(64, 2 * kMiB);
  std::atomic<bool> asking{false};
  std::thread other([&] {
    while (!asking) std::this_thread::yield();
    allocator_.DeallocateRaw(held);
  });
  asking = true;
  tsl::profiler::ScopedMemoryDebugAnnotation annotation(
      "conv1", /*step_id=*/42, "output", 1, [] { return std::string("[2]"); });
  void* const block = allocator_.AllocateRaw(64, 2 * kMiB);
  other.join();
  EXPECT_NE(block, nullptr);
  allocator_.DeallocateRaw(block);
}

}  // namespace
}  // namespace sn_tf
