// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/out_of_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "cc/allocator/arena_allocator.h"
#include "cc/pool/pool.h"
#include "tsl/profiler/lib/scoped_memory_debug_annotation.h"

namespace sn_tf {
namespace {

constexpr int64_t kMB = 1'000'000;
constexpr int kFloat = 1;
constexpr int64_t kStep = 7;

LiveBuffers Live(std::string op, int64_t buffers, int64_t bytes,
                 std::string shape) {
  LiveBuffers live;
  live.op = std::move(op);
  live.buffers = buffers;
  live.bytes = bytes;
  live.dtype = kFloat;
  live.shape = std::move(shape);
  return live;
}

// A step in a budget of 60 MB: 41.2 MB are in use.
OutOfMemory Example() {
  OutOfMemory out;
  out.memory = "sn_tf_cpu";
  Refusal& refusal = out.refusal;
  refusal.op = "conv2/Conv2D";
  refusal.bytes = 33'554'432;
  refusal.dtype = kFloat;
  refusal.shape = "[32,64,64,64]";
  refusal.step_id = kStep;
  refusal.in_use_bytes = 41'200'000;
  refusal.needed_bytes = refusal.in_use_bytes + refusal.bytes;
  refusal.budget_bytes = 60 * kMB;
  refusal.largest_free_bytes = 500 * kMB;
  refusal.live.before_bytes = 12 * kMB;
  refusal.live.largest = {Live("relu1/Relu", 1, 16'777'216, "[32,64,64,32]"),
                          Live("AddV2", 3, 12 * kMB, "[1000,1000]"),
                          Live("conv1/Conv2D", 1, 8 * kMB, "[2000000]"),
                          Live("", 1, 1 * kMB, "")};
  refusal.live.largest[1].of_before = true;
  refusal.live.largest[2].region = AllocationEvent::Region::kTemp;
  refusal.live.largest[3].dtype = 0;
  return out;
}

OutOfMemory PlannedExample() {
  OutOfMemory out = Example();
  out.planned = PlannedStep{75 * kMB, true, "host", "What became of it."};
  return out;
}

constexpr char kBeginOfMessage[] =
    "OOM when allocating 33.6 MB (33554432 bytes), float[32,64,64,64], for "
    "conv2/Conv2D by sn_tf_cpu: that would pass the budget.\n"
    "Budget: 60.0 MB (60000000 bytes). In use: 41.2 MB (41200000 bytes), "
    "12.0 MB of it from before this step. Free: 18.8 MB.\n"
    "Largest live buffers, by op:\n"
    "   16.8 MB  relu1/Relu: float[32,64,64,32]\n"
    "   12.0 MB  AddV2: 3 buffers, largest float[1000,1000], from before "
    "this step\n"
    "    8.0 MB  conv1/Conv2D: float[2000000], workspace\n"
    "    1.0 MB  made outside of ops\n"
    "    3.4 MB  all others\n";

// What the message of an example says behind kBeginOfMessage.
std::string EndOfMessage(const OutOfMemory& out) {
  const std::string begin = kBeginOfMessage;
  const std::string message = MessageOf(out);
  EXPECT_EQ(message.substr(0, begin.size()), begin);
  return message.substr(begin.size());
}

bool Says(const OutOfMemory& out, const std::string& text) {
  return MessageOf(out).find(text) != std::string::npos;
}

TEST(OutOfMemoryTest, OfAPlannedStep) {
  OutOfMemory out = PlannedExample();
  out.refusal.immovable = {4, 10 * kMB, 2, 3 * kMB, "no space left"};
  EXPECT_EQ(
      EndOfMessage(out),
      "The tensor cache could not move 4 buffers of 10.0 MB: ops use them.\n"
      "The tensor cache could not move 2 buffers of 3.0 MB: no tier took them "
      "(no space left).\n"
      "Smallest budget that would fit: 75.0 MB (75000000 bytes), by the "
      "plan.\n"
      "What became of it.\n"
      "If it happens again, three things to try:\n"
      "  1. Raise the budget to at least 75.0 MB (75000000 bytes).\n"
      "  2. Give the tiers more room, or add one: tiers='host,file'; it was "
      "tiers='host'.\n"
      "  3. Use a smaller batch, or smaller inputs.");
}

TEST(OutOfMemoryTest, OfAStepWithoutAPlan) {
  EXPECT_EQ(
      EndOfMessage(Example()),
      "The tensor cache held nothing that could move: it holds buffers of "
      "planned steps only.\n"
      "Smallest budget that would fit: at least 74.8 MB (74754432 bytes), "
      "what was in use and what was asked for.\n"
      "Three things to try:\n"
      "  1. Raise the budget to at least 74.8 MB (74754432 bytes).\n"
      "  2. Let sn_tf plan the step: sn_tf.MemoryBudget(budget) in fit, or "
      "sn_tf.scope(budget) around it. sn_tf.report() then tells what was "
      "planned, or why nothing was.\n"
      "  3. Use a smaller batch, or smaller inputs.");
}

TEST(OutOfMemoryTest, OfADeviceWhoseMemoryIsInPieces) {
  OutOfMemory out = PlannedExample();
  out.refusal.limit = Refusal::Limit::kMemory;
  out.refusal.in_pieces = true;
  out.refusal.budget_bytes = 80 * kMB;
  out.refusal.largest_free_bytes = 20 * kMB;
  EXPECT_TRUE(Says(out, "sn_tf_cpu: the device has no such block.\nMemory: "));
  EXPECT_TRUE(Says(out, "Free: 38.8 MB, in pieces of at most 20.0 MB.\n"));
  EXPECT_TRUE(Says(out, "by the plan; there is more, but in pieces.\n"));
  EXPECT_TRUE(Says(out,
                   "  1. Lower the budget: plans then leave more room "
                   "between.\n"
                   "  2. Use a device with more memory.\n"
                   "  3. Use a smaller batch, or smaller inputs."));
}

TEST(OutOfMemoryTest, TheDevicesMemoryIsNoBudgetToRaise) {
  OutOfMemory out = Example();
  out.refusal.limit = Refusal::Limit::kMemory;
  EXPECT_TRUE(Says(out,
                   "  1. Use a device with at least 74.8 MB (74754432 bytes) "
                   "of memory.\n"));
  out.refusal.limit = Refusal::Limit::kAddresses;
  EXPECT_TRUE(Says(out, "(ulimit -v)"));
}

TEST(OutOfMemoryTest, WithoutTiersOneIsTheSecondThing) {
  OutOfMemory out = PlannedExample();
  out.planned->tiers = "none";
  EXPECT_TRUE(Says(out, "  2. Let buffers leave for a tier: tiers='host' or "));
}

TEST(OutOfMemoryTest, WhatIsHeldBetweenStepsIsNamedWhereItIsMost) {
  OutOfMemory out = PlannedExample();
  out.refusal.live.before_bytes = 30 * kMB;
  EXPECT_TRUE(Says(out, "  2. Free what is held between steps and not needed"));
}

TEST(OutOfMemoryTest, APlanThatWasNotMeasuredTellsNoMoreThanItKnows) {
  OutOfMemory out = PlannedExample();
  out.planned->measured = false;
  EXPECT_TRUE(Says(out,
                   "fit: at least 75.0 MB (75000000 bytes); no whole step was "
                   "measured yet.\n"));
  out.planned->min_budget_bytes = 50 * kMB;
  EXPECT_TRUE(Says(out,
                   "fit: at least 50.0 MB (50000000 bytes); no whole step was "
                   "measured yet; the present plan needs at least 74.8 MB.\n"));
}

// The budget would do, but not for the plan that the step ran by.
TEST(OutOfMemoryTest, ABetterPlanMayFit) {
  OutOfMemory out = PlannedExample();
  out.planned->min_budget_bytes = 50 * kMB;
  EXPECT_TRUE(Says(out,
                   "fit: 50.0 MB (50000000 bytes), by the plan made anew; the "
                   "present one needs at least 74.8 MB.\n"));
  EXPECT_TRUE(Says(out, "  1. Raise the budget to at least 74.8 MB "));
}

TEST(OutOfMemoryTest, TheSmallestBudgetIsEnoughAndNoMore) {
  constexpr int64_t kOdd = 3 * kMB + 1;
  ArenaAllocator arena("test", 64 * kMB);
  const RefusalSink::OfThread sink(arena.sink());
  ASSERT_EQ(arena.SetBudget(2 * kMB), "");
  ASSERT_NE(arena.AllocateRaw(64, kMB), nullptr);
  arena.AllocateRaw(64, kOdd);
  ASSERT_TRUE(sink.first().has_value());
  const int64_t smallest = SmallestBudget({"test", *sink.first(), {}});
  for (const int64_t budget : {smallest - 1, smallest}) {
    ASSERT_EQ(arena.SetBudget(budget), "");
    const bool fits = arena.Contains(arena.AllocateRaw(64, kOdd));
    EXPECT_EQ(fits, budget == smallest);
  }
}

TEST(OutOfMemoryTest, TheAllocatorTellsOncePerStep) {
  ArenaAllocator arena("test", 64 * kMB);
  arena.SetImmovableCallback([] {
    return ImmovableMemory{1, 2 * kMB, 0, 0, ""};
  });
  ASSERT_EQ(arena.SetBudget(10 * kMB), "");
  const auto allocate = [&arena](const char* op, int64_t bytes, int64_t step) {
    const tsl::profiler::ScopedMemoryDebugAnnotation annotation(
        op, step, "output", kFloat, [] { return std::string("[5]"); });
    return arena.AllocateRaw(64, static_cast<size_t>(bytes));
  };
  EXPECT_EQ(arena.refusal_log()->latest().number, 0);
  void* const kept = allocate("weights", 4 * kMB, kStep);
  EXPECT_EQ(allocate("conv", 8 * kMB, kStep + 1), nullptr);
  EXPECT_EQ(allocate("relu", 9 * kMB, kStep + 1), nullptr);
  const RefusalLog::Latest latest = arena.refusal_log()->latest();
  EXPECT_EQ(latest.number, 1);
  for (const char* const text :
       {"OOM when allocating 8.0 MB (8000000 bytes), float[5], for conv by "
        "test: that would pass the budget.\n",
        "In use: 4.0 MB", "4.0 MB  weights: float[5], from before this step\n",
        "could not move 1 buffer of 2.0 MB: ops use them.\n",
        "at least 12.0 MB (12000000 bytes)"}) {
    EXPECT_NE(latest.message.find(text), std::string::npos)
        << text << " not in " << latest.message;
  }
  EXPECT_EQ(std::count(latest.message.begin(), latest.message.end(), '\n'), 9);
  EXPECT_EQ(allocate("conv", 8 * kMB, kStep + 2), nullptr);
  EXPECT_EQ(arena.refusal_log()->latest().number, 2);
  arena.DeallocateRaw(kept);
}

class LockedBuffer : public Evictable {
 public:
  int64_t bytes() const override { return 5 * kMB; }
  bool IsLocked() const override { return true; }
  Eviction Evict() override { return Eviction::kFailed; }
};

TEST(OutOfMemoryTest, TheCpusArenaAsksItsTensorCache) {
  TensorCache& cache = CpuTraffic().cache;
  const auto locked = std::make_shared<LockedBuffer>();
  const LockedBuffer refused;
  cache.Insert(locked);
  cache.Refused(&refused, "the tier is full");
  ASSERT_EQ(CpuArena()->SetBudget(CpuArena()->stats().arena.in_use_bytes + kMB),
            "");
  EXPECT_EQ(CpuArena()->AllocateRaw(64, 2 * kMB), nullptr);
  const std::string message = CpuArena()->refusal_log()->latest().message;
  EXPECT_NE(message.find("could not move 1 buffer of 5.0 MB: ops use them.\n"
                         "The tensor cache could not move 1 buffer of 5.0 MB: "
                         "no tier took them (the tier is full).\n"),
            std::string::npos)
      << message;
  EXPECT_EQ(CpuArena()->SetBudget(0), "");
  cache.Erase(locked.get());
  cache.Erase(&refused);
}

}  // namespace
}  // namespace sn_tf
