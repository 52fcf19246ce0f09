// SPDX-License-Identifier: Apache-2.0
#include "cc/core/spin_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace sn_tf {
namespace {

TEST(SpinLockTest, OneThreadAtATimeIsInside) {
  SpinLock lock;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        const std::lock_guard<SpinLock> inside(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 8 * 20000);
}

TEST(SpinLockTest, TriesWithoutWaiting) {
  SpinLock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(SpinLockTest, OutlastsALongSection) {
  SpinLock lock;
  std::atomic<bool> waits{false};
  bool left = false;
  lock.lock();
  std::thread other([&] {
    waits = true;
    const std::lock_guard<SpinLock> inside(lock);
    EXPECT_TRUE(left);
  });
  while (!waits) std::this_thread::yield();
  // Long enough for the other thread to fall asleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  left = true;
  lock.unlock();
  other.join();
}

TEST(SpinLockTest, ServesACondition) {
  SpinLock lock;
  std::condition_variable_any changed;
  int turn = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      const std::lock_guard<SpinLock> inside(lock);
      changed.wait(lock, [&] { return turn % 2 == 1; });
      ++turn;
      changed.notify_all();
    }
  });
  for (int i = 0; i < 1000; ++i) {
    const std::lock_guard<SpinLock> inside(lock);
    changed.wait(lock, [&] { return turn % 2 == 0; });
    ++turn;
    changed.notify_all();
  }
  other.join();
  EXPECT_EQ(turn, 2000);
}

}  // namespace
}  // namespace sn_tf
