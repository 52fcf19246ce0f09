// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/refusal_log.h"

#include <chrono>

#include "cc/core/bytes.h"
#include "xla/tsl/platform/logging.h"

namespace sn_tf {
namespace {

constexpr int64_t kIntervalNs = 1'000'000'000;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void RefusalLog::Write(const std::string& allocator, int64_t step_id,
                       const Refusal& refusal, const char* what) {
  const int64_t now = NowNs();
  {
    absl::MutexLock lock(&mutex_);
    // Ops that run outside steps share the step id 0.
    if (step_id == step_id_ && (step_id != 0 || now - time_ns_ < kIntervalNs)) {
      return;
    }
    step_id_ = step_id;
    time_ns_ = now;
  }
  LOG(WARNING) << allocator << ": allocation refused. Requested "
               << FormatBytes(refusal.bytes) << " with "
               << FormatBytes(refusal.in_use_bytes) << " in use of "
               << FormatBytes(refusal.budget_bytes) << ": that " << what;
}

}  // namespace sn_tf
