// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_ALLOCATOR_REFUSAL_LOG_H_
#define SN_TF_CC_ALLOCATOR_REFUSAL_LOG_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cc/allocator/refusal_sink.h"

namespace sn_tf {

// Tells of refused allocations, once for each step: a step that is short of
// memory has many. Thread-safe.
class RefusalLog {
 public:
  // `what` continues "... with N in use of M ...".
  void Write(const std::string& allocator, int64_t step_id,
             const Refusal& refusal, const char* what);

 private:
  absl::Mutex mutex_;
  // Of the latest line.
  int64_t step_id_ ABSL_GUARDED_BY(mutex_) = -1;
  absl::Time time_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_REFUSAL_LOG_H_
