// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/staging_buffers.h"

namespace sn_tf {

StagingBuffers::Lease StagingBuffers::Acquire() {
  std::unique_lock<std::mutex> lock(mutex_);
  returned_.wait(lock, [this] { return !free_.empty() || unmade_ > 0; });
  if (free_.empty()) {
    --unmade_;
    return Lease(this, AlignedMapping(bytes_each_));
  }
  AlignedMapping buffer = std::move(free_.back());
  free_.pop_back();
  return Lease(this, std::move(buffer));
}

StagingBuffers::Lease::~Lease() {
  if (owner_ == nullptr) return;
  std::lock_guard<std::mutex> lock(owner_->mutex_);
  if (buffer_.base() == nullptr) {
    ++owner_->unmade_;  // The system may have memory the next time.
  } else {
    owner_->free_.push_back(std::move(buffer_));
  }
  owner_->returned_.notify_one();
}

}  // namespace sn_tf
