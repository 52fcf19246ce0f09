// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/transfer_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/pool/link.h"
#include "cc/pool/transfer_progress.h"
#include "tests/cc/scripted_copy.h"

namespace sn_tf {
namespace {

using Kind = TierError::Kind;
using Progress = TierCopy::Progress;
using Ticket = TransferQueue::Ticket;

constexpr std::chrono::seconds kLong{30};

// A transfer of one chunk that succeeds.
Transfer Plain(
    int64_t needed_at, std::function<void()> done = [] {}) {
  Transfer transfer;
  transfer.bytes = 1;
  transfer.needed_at = needed_at;
  transfer.copy = CopyOf(1);
  transfer.done = [done = std::move(done)](TierCopy*, const TierError&) {
    done();
  };
  return transfer;
}

class TransferQueueTest : public testing::Test {
 protected:
  // Pushes a transfer of one chunk that keeps the queue busy until Open, so
  // that what is pushed after it is all pending at once.
  void Block() {
    Transfer transfer = Plain(-1000);
    std::promise<void> begun;
    transfer.copy = CopyOf(1, [this, &begun](int) {
      begun.set_value();
      gate_.get_future().wait();
    });
    queue_.Push(std::move(transfer));
    begun.get_future().wait();
  }
  void Open() { gate_.set_value(); }

  // Appends `name` to log_ when it is done, and how it ended.
  Ticket Push(const std::string& name, int64_t needed_at, int chunks = 1) {
    Transfer transfer = Plain(needed_at);
    transfer.copy = CopyOf(chunks, [this, name, chunks](int chunk) {
      if (chunks > 1) log_.push_back(name + std::to_string(chunk));
    });
    transfer.done = [this, name](TierCopy*, const TierError& error) {
      const bool cancelled = error.kind == Kind::kCancelled;
      log_.push_back(name + (cancelled ? " cancelled" : ""));
    };
    return queue_.Push(std::move(transfer));
  }

  // What was logged when all has ended.
  std::vector<std::string> Finish() {
    uint64_t seen = 0;
    while (progress_.Wait(&seen, kLong)) {
    }
    return log_;
  }

  using Log = std::vector<std::string>;

  TransferProgress progress_;
  std::promise<void> gate_;
  Log log_;  // Of the queue's thread.
  TransferQueue queue_{"test", &progress_};
};

TEST_F(TransferQueueTest, WhatIsNeededSoonestGoesFirstAndOfEqualsTheFirst) {
  Block();
  Push("late", 9);
  Push("soon", 3);
  Push("as soon", 3);
  Push("at once", -5);
  Open();
  EXPECT_EQ(Finish(), Log({"at once", "soon", "as soon", "late"}));
}

TEST_F(TransferQueueTest, AnUrgentTransferOvertakesALongOneBetweenChunks) {
  Transfer slow = Plain(9, [this] { log_.push_back("long"); });
  slow.copy = CopyOf(3, [this](int chunk) {
    log_.push_back("long" + std::to_string(chunk));
    if (chunk == 1) Push("urgent", 2);
  });
  queue_.Push(std::move(slow));
  EXPECT_EQ(Finish(), Log({"long0", "long1", "urgent", "long2", "long"}));
}

TEST_F(TransferQueueTest, HurryMovesAPendingTransferAhead) {
  Block();
  Push("first", 1);
  Push("second", 2);
  const Ticket third = Push("third", 3);
  const Ticket fourth = Push("fourth", 4);
  queue_.Hurry(fourth, 0);
  queue_.Hurry(third, 2);
  Open();
  EXPECT_EQ(Finish(), Log({"fourth", "first", "second", "third"}));
}

TEST_F(TransferQueueTest, HurryMovesATransferThatHasBegunAheadOfOthers) {
  Ticket slow = 0;
  std::promise<void> pushed;
  Transfer transfer = Plain(5, [this] { log_.push_back("slow"); });
  transfer.copy = CopyOf(3, [&](int chunk) {
    log_.push_back("slow" + std::to_string(chunk));
    if (chunk > 0) return;
    pushed.get_future().wait();
    Push("other", 3);
    queue_.Hurry(slow, 2);
  });
  slow = queue_.Push(std::move(transfer));
  pushed.set_value();
  EXPECT_EQ(Finish(), Log({"slow0", "slow1", "slow2", "slow", "other"}));
}

TEST_F(TransferQueueTest, ACancelledTransferIsNotCopied) {
  Block();
  Push("first", 1);
  const Ticket second = Push("second", 2, 3);
  queue_.Cancel(second);
  Open();
  EXPECT_EQ(Finish(), Log({"second cancelled", "first"}));
}

TEST_F(TransferQueueTest, ATransferIsCancelledBetweenItsChunks) {
  Ticket slow = 0;
  std::promise<void> pushed;
  std::promise<TierError> ended;
  Transfer transfer = Plain(5);
  transfer.bytes = 100;
  transfer.copy = CopyOf(3, [&](int chunk) {
    log_.push_back(std::to_string(chunk));
    if (chunk == 0) pushed.get_future().wait();
    if (chunk == 1) queue_.Cancel(slow);
  });
  transfer.done = [&ended](TierCopy*, const TierError& error) {
    ended.set_value(error);
  };
  slow = queue_.Push(std::move(transfer));
  pushed.set_value();
  const TierError error = ended.get_future().get();
  EXPECT_EQ(error.kind, Kind::kCancelled);
  EXPECT_NE(error.message, "");
  EXPECT_EQ(queue_.stats().bytes, 0);
  EXPECT_EQ(queue_.stats().transfers, 0);
  EXPECT_EQ(Finish(), Log({"0", "1"}));
  EXPECT_EQ(progress_.pending_bytes(), 0);
}

TEST_F(TransferQueueTest, CancelledInItsLastChunkATransferEndsWell) {
  Ticket ticket = 0;
  std::promise<void> pushed;
  std::promise<TierError> ended;
  Transfer transfer = Plain(5);
  transfer.copy = CopyOf(1, [&](int) {
    pushed.get_future().wait();
    queue_.Cancel(ticket);
  });
  transfer.done = [&ended](TierCopy*, const TierError& error) {
    ended.set_value(error);
  };
  ticket = queue_.Push(std::move(transfer));
  pushed.set_value();
  EXPECT_TRUE(ended.get_future().get().ok());
}

TEST_F(TransferQueueTest, HurryingACancelledTransferDoesNotKeepIt) {
  Block();
  Push("first", 1);
  const Ticket second = Push("second", 2);
  queue_.Cancel(second);
  queue_.Hurry(second, 5);
  Open();
  EXPECT_EQ(Finish(), Log({"second cancelled", "first"}));
}

TEST_F(TransferQueueTest, TicketsOfWhatHasEndedNameNothing) {
  std::promise<void> ended;
  const Ticket old = queue_.Push(Plain(1, [&ended] { ended.set_value(); }));
  ended.get_future().wait();
  Block();
  Push("first", 1);
  for (const Ticket none : {Ticket{0}, old}) {
    queue_.Hurry(none, -1);
    queue_.Cancel(none);
  }
  Open();
  EXPECT_EQ(Finish(), Log({"first"}));
}

TEST_F(TransferQueueTest, PushNeverWaits) {
  // Were a push to wait for a copy, the gate would never open.
  Block();
  for (int i = 0; i < 10; ++i) queue_.Push(Plain(i));
  Open();
}

TEST_F(TransferQueueTest, TheEndOfTheQueueFinishesWhatWasPushed) {
  std::atomic<int> finished{0};
  {
    TransferQueue queue("short", &progress_);
    for (int i = 0; i < 50; ++i) {
      queue.Push(Plain(i, [&finished] { ++finished; }));
    }
  }
  EXPECT_EQ(finished, 50);
}

TEST_F(TransferQueueTest, ErrorsReachDoneAndAreNotCountedAsCopied) {
  Transfer good = Plain(1);
  good.bytes = 30;
  queue_.Push(std::move(good));
  std::promise<TierError> received;
  Transfer bad = Plain(2);
  bad.bytes = 12;
  bad.copy = std::make_unique<ScriptedCopy>([](TierError* error) {
    *error = {Kind::kFailed, "broken"};
    return Progress::kFailed;
  });
  bad.done = [&received](TierCopy*, const TierError& error) {
    received.set_value(error);
  };
  queue_.Push(std::move(bad));
  const TierError error = received.get_future().get();
  EXPECT_EQ(error.kind, Kind::kFailed);
  EXPECT_EQ(error.message, "broken");
  EXPECT_EQ(queue_.stats().bytes, 30);
  EXPECT_EQ(queue_.stats().transfers, 1);
}

TEST_F(TransferQueueTest, ATransferIsCountedWhenItsDoneIsCalled) {
  std::promise<TransferQueueStats> counted;
  Transfer transfer =
      Plain(1, [this, &counted] { counted.set_value(queue_.stats()); });
  transfer.bytes = 7;
  transfer.copy = CopyOf(2, [](int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  queue_.Push(std::move(transfer));
  const TransferQueueStats stats = counted.get_future().get();
  EXPECT_EQ(stats.bytes, 7);
  EXPECT_EQ(stats.transfers, 1);
  EXPECT_GE(stats.seconds, 0.010);
}

TEST_F(TransferQueueTest, DoneReceivesTheCopy) {
  Transfer transfer = Plain(1);
  const TierCopy* const copy = transfer.copy.get();
  std::promise<const TierCopy*> received;
  transfer.done = [&received](TierCopy* given, const TierError&) {
    received.set_value(given);
  };
  queue_.Push(std::move(transfer));
  EXPECT_EQ(received.get_future().get(), copy);
}

TEST_F(TransferQueueTest, ProgressHearsOfAnEndAfterAllItHeldIsReleased) {
  auto of_copy = std::make_shared<int>(1);
  auto of_done = std::make_shared<int>(2);
  const std::weak_ptr<int> held[] = {of_copy, of_done};
  std::promise<void> gate;
  Transfer transfer = Plain(1, [kept = std::move(of_done)] {});
  transfer.bytes = 50;
  transfer.copy = CopyOf(
      1, [&gate, kept = std::move(of_copy)](int) { gate.get_future().wait(); });
  queue_.Push(std::move(transfer));
  EXPECT_EQ(progress_.pending_bytes(), 50);
  gate.set_value();
  uint64_t seen = 0;
  EXPECT_TRUE(progress_.Wait(&seen, kLong));
  EXPECT_TRUE(held[0].expired());
  EXPECT_TRUE(held[1].expired());
  EXPECT_EQ(progress_.pending_bytes(), 0);
  EXPECT_FALSE(progress_.Wait(&seen, kLong));
}

TEST_F(TransferQueueTest, TheQueuesOwnThreadDoesNotWaitForItself) {
  std::promise<bool> waited;
  queue_.Push(Plain(1, [this, &waited] {
    uint64_t seen = 0;
    waited.set_value(progress_.Wait(&seen, kLong));
  }));
  EXPECT_FALSE(waited.get_future().get());
}

TEST_F(TransferQueueTest, ManyThreadsPushHurryCancelAndWait) {
  constexpr int kThreads = 4;
  constexpr int kTransfers = 200;
  std::atomic<int> finished{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, &finished] {
      uint64_t seen = 0;
      for (int i = 0; i < kTransfers; ++i) {
        Transfer transfer = Plain(i, [&finished] { ++finished; });
        transfer.copy = CopyOf(1 + i % 3);
        const Ticket ticket = queue_.Push(std::move(transfer));
        if (i % 3 == 0) queue_.Hurry(ticket, -1);
        if (i % 7 == 0) queue_.Cancel(ticket);
        if (i % 10 == 0) progress_.Wait(&seen, kLong);
      }
      while (progress_.Wait(&seen, kLong)) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(finished, kThreads * kTransfers);
  EXPECT_EQ(progress_.pending_bytes(), 0);
  EXPECT_LE(queue_.stats().transfers, kThreads * kTransfers);
}

TEST(LinkTest, DirectionsDoNotWaitForEachOther) {
  std::promise<void> gate;
  std::promise<void> came_in;
  TransferProgress leaving;
  Link link("test", &leaving);
  Transfer out = Plain(1);
  out.copy = CopyOf(1, [&gate](int) { gate.get_future().wait(); });
  link.out.Push(std::move(out));
  link.in.Push(Plain(1, [&came_in] { came_in.set_value(); }));
  came_in.get_future().wait();
  gate.set_value();
}

TEST(LinkTest, OnlyWhatLeavesMakesRoom) {
  std::promise<void> gate;
  TransferProgress leaving;
  Link link("test", &leaving);
  Transfer in = Plain(1);
  in.copy = CopyOf(1, [&gate](int) { gate.get_future().wait(); });
  link.in.Push(std::move(in));
  EXPECT_EQ(leaving.pending_bytes(), 0);
  EXPECT_EQ(link.arriving.pending_bytes(), 1);
  gate.set_value();
}

}  // namespace
}  // namespace sn_tf
