// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/transfer_queue.h"

#include <pthread.h>

#include <utility>

namespace sn_tf {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

TransferQueue::~TransferQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  pushed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void TransferQueue::Push(Transfer transfer) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    pending_.push_back(std::move(transfer));
    ++accepted_;
    if (!thread_.joinable()) thread_ = std::thread(&TransferQueue::Run, this);
  }
  pushed_.notify_one();
}

bool TransferQueue::WaitForProgress(uint64_t* seen,
                                    std::chrono::nanoseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (finished_ == *seen) {
    if (finished_ == accepted_) return false;
    if (thread_.get_id() == std::this_thread::get_id()) return false;
    const Clock::time_point start = Clock::now();
    progress_.wait_for(lock, timeout,
                       [this, seen] { return finished_ != *seen; });
    stats_.wait_seconds += SecondsSince(start);
  }
  *seen = finished_;
  return true;
}

TransferQueueStats TransferQueue::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void TransferQueue::Run() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    pushed_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
    if (pending_.empty()) return;
    {
      const Transfer transfer = std::move(pending_.front());
      pending_.pop_front();
      lock.unlock();
      const Clock::time_point start = Clock::now();
      const std::string error = transfer.copy();
      const double seconds = SecondsSince(start);
      // Before `done`: who has been told of the transfer finds it counted.
      lock.lock();
      if (error.empty()) stats_.bytes += transfer.bytes;
      stats_.seconds += seconds;
      lock.unlock();
      transfer.done(error);
    }
    lock.lock();
    ++finished_;
    progress_.notify_all();
  }
}

}  // namespace sn_tf
