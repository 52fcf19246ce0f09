// SPDX-License-Identifier: Apache-2.0
//
// A lock for sections of tens of nanoseconds, entered millions of times a
// second: taking it is one atomic operation, leaving it a plain write. Whoever
// waits spins, ever more seldom, so that the thread inside may come again
// several times while the processor's cache holds what it works on; then gives
// way to other threads; then sleeps, for the thread inside may have been
// interrupted. Not fair. A std::mutex in all else: for std::lock_guard.
#ifndef SN_TF_CC_CORE_SPIN_LOCK_H_
#define SN_TF_CC_CORE_SPIN_LOCK_H_

#include <atomic>

namespace sn_tf {

class SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() {
    if (!try_lock()) Wait();
  }
  bool try_lock() { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  // Returns when the lock is taken.
  void Wait();

  std::atomic<bool> held_{false};
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_SPIN_LOCK_H_
