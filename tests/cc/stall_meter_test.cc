// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/stall_meter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace sn_tf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPause{20};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TEST(StallMeterTest, NobodyWaitsNothingIsMeasured) {
  StallMeter meter;
  std::this_thread::sleep_for(kPause);
  EXPECT_EQ(meter.seconds(), 0);
}

TEST(StallMeterTest, TimeCountsWhileAScopeLives) {
  StallMeter meter;
  const Clock::time_point start = Clock::now();
  {
    const StallMeter::Scope waiting(&meter);
    std::this_thread::sleep_for(kPause);
    EXPECT_GE(meter.seconds(), 0.020) << "of a wait that has not ended";
  }
  const double seconds = meter.seconds();
  EXPECT_GE(seconds, 0.020);
  EXPECT_LE(seconds, SecondsSince(start));
  std::this_thread::sleep_for(kPause);
  EXPECT_EQ(meter.seconds(), seconds);
}

TEST(StallMeterTest, TimeInWhichSeveralWaitCountsOnce) {
  StallMeter meter;
  const Clock::time_point start = Clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&meter] {
      const StallMeter::Scope waiting(&meter);
      std::this_thread::sleep_for(kPause);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(meter.seconds(), 0.020);
  EXPECT_LE(meter.seconds(), SecondsSince(start));
}

TEST(StallMeterTest, AWaitMayEndOnAnotherThread) {
  StallMeter meter;
  meter.Begin();
  std::this_thread::sleep_for(kPause);
  std::thread([&meter] { meter.End(); }).join();
  const double seconds = meter.seconds();
  EXPECT_GE(seconds, 0.020);
  std::this_thread::sleep_for(kPause);
  EXPECT_EQ(meter.seconds(), seconds);
}

}  // namespace
}  // namespace sn_tf
