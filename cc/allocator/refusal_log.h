// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_ALLOCATOR_REFUSAL_LOG_H_
#define SN_TF_CC_ALLOCATOR_REFUSAL_LOG_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cc/allocator/out_of_memory.h"

namespace sn_tf {

// Tells of refused allocations, once for each step: a step that is short of
// memory has many. Keeps the latest message. Thread-safe.
class RefusalLog {
 public:
  // Whether a refusal in that step, made now, is one to tell of.
  bool Begins(int64_t step_id);

  // Writes the message, and keeps it.
  void Write(const OutOfMemory& out);
  // The same, but writes its first line only: whoever planned the step has
  // more to say.
  void WriteLine(const OutOfMemory& out);
  // Keeps a message that the step's error tells.
  void Keep(std::string message);

  struct Latest {
    int64_t number = 0;  // How many there were; 0: none.
    std::string message;
  };
  Latest latest() const;

 private:
  mutable absl::Mutex mutex_;
  // Of the latest step told of.
  int64_t step_id_ ABSL_GUARDED_BY(mutex_) = -1;
  absl::Time time_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  Latest latest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_REFUSAL_LOG_H_
