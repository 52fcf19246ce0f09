// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/refusal_log.h"

#include "absl/time/clock.h"
#include "cc/core/bytes.h"
#include "xla/tsl/platform/logging.h"

namespace sn_tf {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);

}  // namespace

void RefusalLog::Write(const std::string& allocator, int64_t step_id,
                       const Refusal& refusal, const char* what) {
  const absl::Time now = absl::Now();
  {
    absl::MutexLock lock(&mutex_);
    // Ops that run outside steps share the step id 0.
    if (step_id == step_id_ && (step_id != 0 || now - time_ < kInterval)) {
      return;
    }
    step_id_ = step_id;
    time_ = now;
  }
  LOG(WARNING) << allocator << ": allocation refused. Requested "
               << FormatBytes(refusal.bytes) << " with "
               << FormatBytes(refusal.in_use_bytes) << " in use of "
               << FormatBytes(refusal.budget_bytes) << ": that " << what;
}

}  // namespace sn_tf
