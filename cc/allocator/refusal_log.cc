// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/refusal_log.h"

#include <utility>

#include "absl/time/clock.h"
#include "xla/tsl/platform/logging.h"

namespace sn_tf {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);

}  // namespace

bool RefusalLog::Begins(int64_t step_id) {
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&mutex_);
  // Ops that run outside steps share the step id 0.
  if (step_id == step_id_ && (step_id != 0 || now - time_ < kInterval)) {
    return false;
  }
  step_id_ = step_id;
  time_ = now;
  return true;
}

void RefusalLog::Write(const OutOfMemory& out) {
  std::string message = MessageOf(out);
  LOG(WARNING) << message;
  Keep(std::move(message));
}

void RefusalLog::WriteLine(const OutOfMemory& out) {
  std::string message = MessageOf(out);
  LOG(WARNING) << message.substr(0, message.find('\n'));
  Keep(std::move(message));
}

void RefusalLog::Keep(std::string message) {
  absl::MutexLock lock(&mutex_);
  ++latest_.number;
  latest_.message = std::move(message);
}

RefusalLog::Latest RefusalLog::latest() const {
  absl::MutexLock lock(&mutex_);
  return latest_;
}

}  // namespace sn_tf
