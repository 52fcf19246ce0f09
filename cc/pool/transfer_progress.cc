// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/transfer_progress.h"

namespace sn_tf {
namespace {

using Clock = std::chrono::steady_clock;

// For which progress this thread makes transfers.
thread_local const TransferProgress* working_for = nullptr;

}  // namespace

TransferProgress::Worker::Worker(const TransferProgress* progress) {
  working_for = progress;
}

TransferProgress::Worker::~Worker() { working_for = nullptr; }

void TransferProgress::Begins(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++begun_;
  pending_bytes_ += bytes;
}

void TransferProgress::Ends(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++ended_;
  pending_bytes_ -= bytes;
  ended_one_.notify_all();
}

int64_t TransferProgress::pending_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return pending_bytes_;
}

bool TransferProgress::Wait(uint64_t* seen, std::chrono::nanoseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ended_ == *seen) {
    if (ended_ == begun_ || working_for == this) return false;
    const Clock::time_point start = Clock::now();
    ended_one_.wait_for(lock, timeout,
                        [this, seen] { return ended_ != *seen; });
    wait_seconds_ +=
        std::chrono::duration<double>(Clock::now() - start).count();
  }
  *seen = ended_;
  return true;
}

double TransferProgress::wait_seconds() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return wait_seconds_;
}

}  // namespace sn_tf
