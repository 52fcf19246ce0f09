// SPDX-License-Identifier: Apache-2.0
//
// Swapped tensors that many threads fetch, evict and abandon, over the tiers of
// the library.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/ops/swap_handle.h"
#include "cc/ops/swapped_tensor.h"
#include "cc/ops/tensor_mover.h"
#include "cc/pool/pool.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/tensor.h"
#include "tests/cc/kernel_run.h"

namespace sn_tf {
namespace {

using tensorflow::Tensor;

constexpr int kThreads = 4;
constexpr int kActions = 500;
constexpr size_t kTensors = 12;
constexpr int64_t kMostElements = 40'000;

class SwappedTensorThreadsTest : public testing::Test {
 protected:
  // A tensor of a step, and what all its elements are.
  struct Held {
    SwapHandle handle;
    float value = 0;
  };

  SwappedTensorThreadsTest() {
    std::string error;
    pool_ = FindPool("host:1MB,compressed:4MB", "", &error);
    EXPECT_NE(pool_, nullptr) << error;
  }

  Held Make(std::minstd_rand* random) {
    Held held;
    held.value = static_cast<float>(1 + (*random)() % 1000);
    Tensor tensor(&device_.device_memory, tensorflow::DT_FLOAT,
                  {static_cast<int64_t>((*random)() % kMostElements)});
    tensor.flat<float>().setConstant(held.value);
    const auto swapped =
        SwappedTensor::Make(std::move(tensor), MakePoolMover(pool_, "w:0"), 0);
    held.handle = SwapHandle(swapped);
    if ((*random)() % 2 == 0) {
      swapped->MoveOut();
    } else {
      swapped->MayLeave();
    }
    return held;
  }

  // Fetches it, compares it, and uses it for a moment.
  void Fetch(const Held& held, tensorflow::OpKernelContext* context) {
    const auto swapped = held.handle.swapped();
    auto fetched = std::make_shared<std::promise<Tensor>>();
    swapped->Fetch(
        context, 0, [this, fetched](const absl::Status& status, Tensor tensor) {
          ++(status.ok() ? right_ : cancelled_);
          EXPECT_TRUE(status.ok() || absl::IsCancelled(status)) << status;
          EXPECT_TRUE(tensor.IsInitialized() || !status.ok());
          fetched->set_value(std::move(tensor));
        });
    const Tensor tensor = fetched->get_future().get();
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      ASSERT_EQ(tensor.flat<float>()(i), held.value);
    }
  }

  static void WaitUntilOut(const Held& held) {
    auto out = std::make_shared<std::promise<void>>();
    held.handle.swapped()->WaitUntilOut([out] { out->set_value(); });
    out->get_future().wait();
  }

  void Act(uint32_t seed) {
    std::minstd_rand random(seed + 1);
    KernelRun run(&device_, node_, {});
    uint64_t seen = 0;
    for (int action = 0; action < kActions; ++action) {
      Held held;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (held_.size() >= kTensors) held = held_[random() % held_.size()];
      }
      if (held.handle.swapped() == nullptr) {
        held = Make(&random);
        std::lock_guard<std::mutex> lock(mutex_);
        held_.push_back(held);
        continue;
      }
      switch (random() % 8) {
        case 0:
          CpuTraffic().cache.MakeRoom(
              static_cast<int64_t>(random() % (4 * kMostElements)), &seen);
          break;
        case 1:
          held.handle.swapped()->Prefetch(run.context(), 0);
          break;
        case 2:
          WaitUntilOut(held);
          break;
        case 3:
          Replace(&random);
          break;
        default:
          Fetch(held, run.context());
      }
    }
  }

  // Others may be fetching what goes.
  void Replace(std::minstd_rand* random) {
    Held held = Make(random);
    std::lock_guard<std::mutex> lock(mutex_);
    std::swap(held_[(*random)() % held_.size()], held);
    if ((*random)() % 4 == 0) held.handle.swapped()->Abandon();
  }

  UnifiedPool* pool_ = nullptr;
  FakeDevice device_{"CPU"};
  tensorflow::NodeDef node_ = [] {
    tensorflow::NodeDef node;
    TF_CHECK_OK(tensorflow::NodeDefBuilder("none", "NoOp").Finalize(&node));
    return node;
  }();
  std::mutex mutex_;
  std::vector<Held> held_;
  std::atomic<int> right_{0};
  std::atomic<int> cancelled_{0};
};

TEST_F(SwappedTensorThreadsTest, ManyThreadsUseThem) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([this, t] { Act(t); });
  for (std::thread& thread : threads) thread.join();
  held_.clear();
  EXPECT_GT(right_, 0);
  // Threads of transfers may hold what they copied a moment longer.
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto stored = [this] {
    int64_t bytes = 0;
    for (const PoolTierStats& tier : pool_->stats()) {
      bytes += tier.usage.taken_bytes;
    }
    return bytes;
  };
  while ((device_.device_memory.blocks_in_use > 0 || stored() > 0) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(device_.device_memory.blocks_in_use, 0);
  EXPECT_EQ(stored(), 0);
  uint64_t seen = 0;
  while (CpuTraffic().leaving.Wait(&seen, std::chrono::seconds(60))) {
  }
  EXPECT_EQ(CpuTraffic().leaving.pending_bytes(), 0);
  EXPECT_EQ(CpuTraffic().cache.stats().cached_bytes, 0);
  EXPECT_EQ(CpuTraffic().cache.immovable().refused_buffers, 0);
}

}  // namespace
}  // namespace sn_tf
