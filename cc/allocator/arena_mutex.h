// SPDX-License-Identifier: Apache-2.0
//
// The lock of an arena allocator: a SpinLock with the annotations that let
// clang check who holds it.
#ifndef SN_TF_CC_ALLOCATOR_ARENA_MUTEX_H_
#define SN_TF_CC_ALLOCATOR_ARENA_MUTEX_H_

#include "absl/base/thread_annotations.h"
#include "cc/core/spin_lock.h"

namespace sn_tf {

class ABSL_LOCKABLE ArenaMutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { lock_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { lock_.unlock(); }

 private:
  SpinLock lock_;
};

class ABSL_SCOPED_LOCKABLE ArenaMutexLock {
 public:
  explicit ArenaMutexLock(ArenaMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->lock();
  }
  ~ArenaMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->unlock(); }

  ArenaMutexLock(const ArenaMutexLock&) = delete;
  ArenaMutexLock& operator=(const ArenaMutexLock&) = delete;

 private:
  ArenaMutex* const mutex_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_ARENA_MUTEX_H_
