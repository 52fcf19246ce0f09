// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/stall_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

namespace sn_tf {
namespace {

constexpr double kNapSeconds = 0.002;

void Nap() {
  std::this_thread::sleep_for(std::chrono::duration<double>(kNapSeconds));
}

TEST(StallClockTest, CopiesAloneAreAStall) {
  StallClock clock;
  EXPECT_EQ(clock.seconds(), 0);
  clock.CopyBegins();
  Nap();
  EXPECT_GE(clock.seconds(), kNapSeconds);  // Counted while it lasts.
  clock.CopyBegins();
  clock.CopyEnds();
  Nap();
  EXPECT_GE(clock.seconds(), 2 * kNapSeconds);
  clock.CopyEnds();
  const double stalled = clock.seconds();
  Nap();
  EXPECT_EQ(clock.seconds(), stalled);
}

TEST(StallClockTest, ComputationAloneIsNone) {
  StallClock clock;
  const StallClock::Computing computing(&clock);
  Nap();
  EXPECT_EQ(clock.seconds(), 0);
}

TEST(StallClockTest, ACopyBehindComputationIsNone) {
  StallClock clock;
  std::optional<StallClock::Computing> computing;
  computing.emplace(&clock);
  clock.CopyBegins();
  Nap();
  EXPECT_EQ(clock.seconds(), 0);
  computing.reset();
  Nap();
  EXPECT_GE(clock.seconds(), kNapSeconds);
  clock.CopyEnds();
}

TEST(StallClockTest, OneThreadThatComputesIsEnough) {
  StallClock clock;
  const StallClock::Computing computing(&clock);
  clock.CopyBegins();
  std::thread([&clock] {
    const StallClock::Computing other(&clock);
    const StallClock::Waiting waiting(&clock);
    Nap();
  }).join();
  clock.CopyEnds();
  EXPECT_EQ(clock.seconds(), 0);
}

TEST(StallClockTest, AThreadThatWaitsDoesNotCompute) {
  StallClock clock;
  const StallClock::Computing computing(&clock);
  clock.CopyBegins();
  {
    const StallClock::Waiting waiting(&clock);
    Nap();
  }
  const double stalled = clock.seconds();
  EXPECT_GE(stalled, kNapSeconds);
  Nap();
  EXPECT_EQ(clock.seconds(), stalled);
  clock.CopyEnds();
}

TEST(StallClockTest, WhoWaitsWithoutComputingTakesNobodysPart) {
  StallClock clock;
  StallClock other;
  const StallClock::Computing computing(&other);
  std::thread worker([&clock] {
    const StallClock::Computing computing(&clock);
    clock.CopyBegins();
    clock.CopyEnds();
  });
  {
    // This thread computes for another accelerator.
    const StallClock::Waiting waiting(&clock);
    worker.join();
  }
  EXPECT_EQ(clock.seconds(), 0);
  EXPECT_EQ(other.seconds(), 0);
}

TEST(StallClockTest, AComputationInsideAnotherCountsOnce) {
  StallClock clock;
  const StallClock::Computing outer(&clock);
  clock.CopyBegins();
  {
    const StallClock::Computing inner(&clock);
    Nap();
    EXPECT_EQ(clock.seconds(), 0);
    const StallClock::Waiting waiting(&clock);
    Nap();
    EXPECT_GE(clock.seconds(), kNapSeconds);
  }
  const double stalled = clock.seconds();
  Nap();
  EXPECT_EQ(clock.seconds(), stalled);  // The outer one goes on.
  clock.CopyEnds();
}

TEST(StallClockTest, ThreadsMeet) {
  StallClock clock;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&clock] {
      for (int turn = 0; turn < 1000; ++turn) {
        clock.CopyBegins();
        { const StallClock::Computing computing(&clock); }
        clock.CopyEnds();
      }
    });
  }
  double last = 0;
  for (int i = 0; i < 1000; ++i) {
    const double seconds = clock.seconds();
    EXPECT_GE(seconds, last);
    last = seconds;
  }
  for (std::thread& thread : threads) thread.join();
  const double stalled = clock.seconds();
  EXPECT_EQ(clock.seconds(), stalled);
}

}  // namespace
}  // namespace sn_tf
