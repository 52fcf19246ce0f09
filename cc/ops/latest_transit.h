// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_OPS_LATEST_TRANSIT_H_
#define SN_TF_CC_OPS_LATEST_TRANSIT_H_

#include <memory>
#include <mutex>

#include "cc/pool/unified_pool.h"

namespace sn_tf {

// What is under way of one buffer: one transfer at a time, because a buffer
// comes back after it has left. Thread-safe.
class LatestTransit {
 public:
  using Transit = UnifiedPool::Transit;

  std::shared_ptr<Transit> New() {
    std::lock_guard<std::mutex> lock(mutex_);
    transit_ = std::make_shared<Transit>();
    return transit_;
  }

  void Hurry() {
    if (const auto transit = Get()) transit->Hurry();
  }

  void Cancel() {
    if (const auto transit = Get()) transit->Cancel();
  }

 private:
  std::shared_ptr<Transit> Get() {
    std::lock_guard<std::mutex> lock(mutex_);
    return transit_;
  }

  std::mutex mutex_;
  std::shared_ptr<Transit> transit_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_LATEST_TRANSIT_H_
