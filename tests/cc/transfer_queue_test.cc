// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/transfer_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/pool/link.h"

namespace sn_tf {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLong{30};

// A transfer that succeeds once `gate` is open.
Transfer WaitsFor(std::shared_future<void> gate, int64_t bytes = 0) {
  Transfer transfer;
  transfer.bytes = bytes;
  transfer.copy = [gate = std::move(gate)] {
    gate.wait();
    return std::string();
  };
  transfer.done = [](const std::string&) {};
  return transfer;
}

Transfer Calls(std::function<void(const std::string&)> done,
               std::string error = "", int64_t bytes = 0) {
  Transfer transfer;
  transfer.bytes = bytes;
  transfer.copy = [error = std::move(error)] { return error; };
  transfer.done = std::move(done);
  return transfer;
}

TEST(TransferQueueTest, TransfersRunInTheOrderOfTheirPushing) {
  std::vector<int> order;
  {
    TransferQueue queue("test");
    for (int i = 0; i < 100; ++i) {
      queue.Push(
          Calls([&order, i](const std::string&) { order.push_back(i); }));
    }
  }
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST(TransferQueueTest, PushNeverWaits) {
  std::promise<void> gate;
  TransferQueue queue("test");
  const auto open = gate.get_future().share();
  // Were a push to wait for a copy, the gate would never open.
  for (int i = 0; i < 10; ++i) queue.Push(WaitsFor(open));
  gate.set_value();
}

TEST(TransferQueueTest, TheEndOfTheQueueFinishesWhatWasPushed) {
  std::atomic<int> finished{0};
  {
    TransferQueue queue("test");
    for (int i = 0; i < 50; ++i) {
      queue.Push(Calls([&finished](const std::string&) { ++finished; }));
    }
  }
  EXPECT_EQ(finished, 50);
}

TEST(TransferQueueTest, ErrorsReachDoneAndAreNotCountedAsCopied) {
  TransferQueue queue("test");
  std::promise<std::string> received;
  queue.Push(Calls([](const std::string&) {}, "", 30));
  queue.Push(Calls(
      [&received](const std::string& error) { received.set_value(error); },
      "broken", 12));
  EXPECT_EQ(received.get_future().get(), "broken");
  EXPECT_EQ(queue.stats().bytes, 30);
}

TEST(TransferQueueTest, ATransferIsCountedWhenItsDoneIsCalled) {
  TransferQueue queue("test");
  std::promise<TransferQueueStats> counted;
  Transfer transfer =
      Calls([&](const std::string&) { counted.set_value(queue.stats()); });
  transfer.bytes = 7;
  transfer.copy = [] {
    std::this_thread::sleep_for(milliseconds(5));
    return std::string();
  };
  queue.Push(std::move(transfer));
  const TransferQueueStats stats = counted.get_future().get();
  EXPECT_EQ(stats.bytes, 7);
  EXPECT_GE(stats.seconds, 0.005);
}

TEST(TransferQueueTest, NothingOutstandingIsNothingToWaitFor) {
  TransferQueue queue("test");
  uint64_t seen = 0;
  EXPECT_FALSE(queue.WaitForProgress(&seen, kLong));
  EXPECT_EQ(queue.stats().wait_seconds, 0);
}

TEST(TransferQueueTest, WaitingEndsWhenWhatDoneHeldIsReleased) {
  TransferQueue queue("test");
  auto memory = std::make_shared<int>(1);
  const std::weak_ptr<int> held = memory;
  std::promise<void> gate;
  Transfer transfer = WaitsFor(gate.get_future().share());
  transfer.done = [memory = std::move(memory)](const std::string&) {};
  queue.Push(std::move(transfer));
  std::thread opener([&gate] {
    std::this_thread::sleep_for(milliseconds(20));
    gate.set_value();
  });
  uint64_t seen = 0;
  EXPECT_TRUE(queue.WaitForProgress(&seen, kLong));
  EXPECT_TRUE(held.expired());
  EXPECT_GT(queue.stats().wait_seconds, 0);
  EXPECT_FALSE(queue.WaitForProgress(&seen, kLong));
  opener.join();
}

TEST(TransferQueueTest, ProgressSinceTheLastLookIsNotMissed) {
  TransferQueue queue("test");
  uint64_t seen = 0;
  uint64_t others = 0;
  EXPECT_FALSE(queue.WaitForProgress(&seen, kLong));
  queue.Push(Calls([](const std::string&) {}));
  EXPECT_TRUE(queue.WaitForProgress(&others, kLong));
  // The transfer finished before this caller asked.
  EXPECT_TRUE(queue.WaitForProgress(&seen, kLong));
  EXPECT_FALSE(queue.WaitForProgress(&seen, kLong));
}

TEST(TransferQueueTest, TheTimeoutEndsTheWait) {
  TransferQueue queue("test");
  std::promise<void> gate;
  queue.Push(WaitsFor(gate.get_future().share()));
  uint64_t seen = 0;
  EXPECT_TRUE(queue.WaitForProgress(&seen, milliseconds(1)));
  EXPECT_EQ(seen, 0u);
  gate.set_value();
}

TEST(TransferQueueTest, TheQueuesOwnThreadDoesNotWaitForItself) {
  TransferQueue queue("test");
  std::promise<bool> waited;
  queue.Push(Calls([&](const std::string&) {
    uint64_t seen = 0;
    waited.set_value(queue.WaitForProgress(&seen, kLong));
  }));
  EXPECT_FALSE(waited.get_future().get());
}

TEST(TransferQueueTest, ManyThreadsPushAndWait) {
  constexpr int kThreads = 4;
  constexpr int kTransfers = 200;
  std::atomic<int> finished{0};
  TransferQueue queue("test");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&queue, &finished] {
      uint64_t seen = 0;
      for (int i = 0; i < kTransfers; ++i) {
        queue.Push(
            Calls([&finished](const std::string&) { ++finished; }, "", 1));
        if (i % 10 == 0) queue.WaitForProgress(&seen, kLong);
      }
      while (queue.WaitForProgress(&seen, kLong)) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(finished, kThreads * kTransfers);
  EXPECT_EQ(queue.stats().bytes, kThreads * kTransfers);
}

TEST(LinkTest, DirectionsDoNotWaitForEachOther) {
  Link link("test");
  std::promise<void> gate;
  std::promise<void> came_in;
  link.out.Push(WaitsFor(gate.get_future().share()));
  link.in.Push(Calls([&came_in](const std::string&) { came_in.set_value(); }));
  came_in.get_future().wait();
  gate.set_value();
}

}  // namespace
}  // namespace sn_tf
