// SPDX-License-Identifier: Apache-2.0
#include "cc/core/spin_lock.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sn_tf {
namespace {

// A round of spinning takes about half a microsecond.
constexpr int kLongestPause = 8;
constexpr int kLooksPerRound = 5;
// So long waits only who has more threads than processors, or waits for an
// interrupted one. The more of them sleep, the less those awake take the lock's
// and the data's cache lines from each other.
constexpr int kRoundsBeforeSleep = 4;
constexpr std::chrono::microseconds kSleep{1000};

void Pause(int times) {
  for (int time = 0; time < times; ++time) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
  }
}

}  // namespace

void SpinLock::Wait() {
  for (int round = 0;; ++round) {
    int pause = 1;
    for (int look = 0; look < kLooksPerRound; ++look) {
      // Reads first: a write would take the lock's cache line away from the
      // thread that is about to leave.
      if (!held_.load(std::memory_order_relaxed) && try_lock()) return;
      Pause(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
    if (round < kRoundsBeforeSleep) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
}

}  // namespace sn_tf
