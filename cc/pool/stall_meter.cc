// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/stall_meter.h"

namespace sn_tf {

void StallMeter::Begin() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (waiting_++ == 0) since_ = Clock::now();
}

void StallMeter::End() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (--waiting_ == 0) total_ += Clock::now() - since_;
}

double StallMeter::seconds() const {
  std::lock_guard<std::mutex> lock(mutex_);
  Clock::duration total = total_;
  if (waiting_ > 0) total += Clock::now() - since_;
  return std::chrono::duration<double>(total).count();
}

}  // namespace sn_tf
