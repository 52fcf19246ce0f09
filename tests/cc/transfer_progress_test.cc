// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/transfer_progress.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace sn_tf {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kLong{30};

TEST(TransferProgressTest, WithNothingUnderWayThereIsNothingToWaitFor) {
  TransferProgress progress;
  uint64_t seen = 0;
  EXPECT_FALSE(progress.Wait(&seen, kLong));
  EXPECT_EQ(progress.wait_seconds(), 0);
}

TEST(TransferProgressTest, PendingIsWhatHasBegunAndNotEnded) {
  TransferProgress progress;
  progress.Begins(10);
  progress.Begins(5);
  EXPECT_EQ(progress.pending_bytes(), 15);
  progress.Ends(10);
  EXPECT_EQ(progress.pending_bytes(), 5);
  progress.Ends(5);
  EXPECT_EQ(progress.pending_bytes(), 0);
}

TEST(TransferProgressTest, AWaitEndsWithTheNextTransferThatEnds) {
  TransferProgress progress;
  progress.Begins(1);
  progress.Begins(2);
  std::future<bool> waited = std::async(std::launch::async, [&progress] {
    uint64_t seen = 0;
    return progress.Wait(&seen, kLong) && seen == 1;
  });
  EXPECT_EQ(waited.wait_for(milliseconds(20)), std::future_status::timeout);
  progress.Ends(1);
  EXPECT_TRUE(waited.get());
  EXPECT_GT(progress.wait_seconds(), 0);
}

TEST(TransferProgressTest, WhatEndedSinceTheLastLookIsNotMissed) {
  TransferProgress progress;
  uint64_t seen = 0;
  progress.Begins(1);
  progress.Begins(1);
  progress.Ends(1);
  EXPECT_TRUE(progress.Wait(&seen, kLong));
  progress.Ends(1);
  EXPECT_TRUE(progress.Wait(&seen, kLong));
  EXPECT_FALSE(progress.Wait(&seen, kLong));
  // Each caller has a memory of its own.
  uint64_t other = 0;
  EXPECT_TRUE(progress.Wait(&other, kLong));
  EXPECT_FALSE(progress.Wait(&other, kLong));
}

TEST(TransferProgressTest, WhatEndedLongAgoDoesNotCountTwice) {
  TransferProgress progress;
  uint64_t seen = 0;
  for (int i = 0; i < 5; ++i) {
    progress.Begins(1);
    progress.Ends(1);
  }
  EXPECT_TRUE(progress.Wait(&seen, kLong));
  EXPECT_FALSE(progress.Wait(&seen, kLong));
}

TEST(TransferProgressTest, TheTimeoutEndsTheWait) {
  TransferProgress progress;
  progress.Begins(1);
  uint64_t seen = 0;
  EXPECT_TRUE(progress.Wait(&seen, milliseconds(1)));
  EXPECT_EQ(seen, 0u);
  progress.Ends(1);
}

TEST(TransferProgressTest, AThreadThatMakesTransfersDoesNotWaitForThem) {
  TransferProgress progress;
  TransferProgress other;
  progress.Begins(1);
  other.Begins(1);
  uint64_t seen = 0;
  {
    const TransferProgress::Worker worker(&progress);
    EXPECT_FALSE(progress.Wait(&seen, kLong));
    // Of others it may.
    uint64_t of_other = 0;
    EXPECT_TRUE(other.Wait(&of_other, milliseconds(1)));
  }
  EXPECT_TRUE(progress.Wait(&seen, milliseconds(1)));
  // What has ended it may know.
  const TransferProgress::Worker worker(&progress);
  progress.Ends(1);
  EXPECT_TRUE(progress.Wait(&seen, kLong));
}

TEST(TransferProgressTest, AllWhoWaitHearOfOneEnd) {
  constexpr int kThreads = 4;
  TransferProgress progress;
  progress.Begins(1);
  std::atomic<int> woken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&progress, &woken] {
      uint64_t seen = 0;
      if (progress.Wait(&seen, kLong)) ++woken;
    });
  }
  progress.Ends(1);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(woken, kThreads);
}

}  // namespace
}  // namespace sn_tf
