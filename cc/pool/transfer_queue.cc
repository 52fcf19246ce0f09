// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/transfer_queue.h"

#include <pthread.h>

#include <chrono>
#include <limits>

namespace sn_tf {
namespace {

using Clock = std::chrono::steady_clock;
using Progress = TierCopy::Progress;

constexpr int64_t kAtOnce = std::numeric_limits<int64_t>::min();

}  // namespace

TransferQueue::~TransferQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  pushed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

TransferQueue::Ticket TransferQueue::Push(Transfer transfer) {
  progress_->Begins(transfer.bytes);
  Ticket ticket;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ticket = ++last_ticket_;
    const int64_t needed_at = transfer.needed_at;
    needed_at_[ticket] = needed_at;
    pending_[{needed_at, ticket}].transfer = std::move(transfer);
    if (!thread_.joinable()) thread_ = std::thread(&TransferQueue::Run, this);
  }
  pushed_.notify_one();
  return ticket;
}

std::map<TransferQueue::Order, TransferQueue::Pending>::iterator
TransferQueue::Find(Ticket ticket) {
  const auto found = needed_at_.find(ticket);
  return found == needed_at_.end() ? pending_.end()
                                   : pending_.find({found->second, ticket});
}

void TransferQueue::Hurry(Ticket ticket, int64_t needed_at) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = Find(ticket);
  if (found == pending_.end() || found->second.cancelled) return;
  auto node = pending_.extract(found);
  node.key() = {needed_at, ticket};
  needed_at_[ticket] = needed_at;
  pending_.insert(std::move(node));
}

void TransferQueue::Cancel(Ticket ticket) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = Find(ticket);
  if (found == pending_.end()) return;
  auto node = pending_.extract(found);
  node.mapped().cancelled = true;
  // The queue's thread ends it, as it ends all.
  node.key() = {kAtOnce, ticket};
  needed_at_[ticket] = kAtOnce;
  pending_.insert(std::move(node));
}

TransferQueueStats TransferQueue::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void TransferQueue::Run() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  const TransferProgress::Worker worker(progress_);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    pushed_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
    if (pending_.empty()) return;
    Serve(&lock);
  }
}

void TransferQueue::Serve(std::unique_lock<std::mutex>* lock) {
  // Hurry and Cancel may move the entry to another key meanwhile, but only
  // this thread removes entries, so the reference stays good.
  const Ticket ticket = pending_.begin()->first.second;
  Pending& pending = pending_.begin()->second;
  TierError error;
  Progress progress = Progress::kFailed;
  if (pending.cancelled) {
    error = {TierError::Kind::kCancelled, "Nobody needs the copy any more."};
  } else {
    lock->unlock();
    const Clock::time_point start = Clock::now();
    progress = pending.transfer.copy->CopyChunk(&error);
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    lock->lock();
    stats_.seconds += seconds;
  }
  if (progress == Progress::kMore) return;
  // Before `done`: who has been told of the transfer finds it counted.
  if (progress == Progress::kDone) {
    stats_.bytes += pending.transfer.bytes;
    ++stats_.transfers;
  }
  const auto found = Find(ticket);
  needed_at_.erase(ticket);
  auto node = pending_.extract(found);
  const int64_t bytes = node.mapped().transfer.bytes;
  lock->unlock();
  {
    const Transfer transfer = std::move(node.mapped().transfer);
    transfer.done(transfer.copy.get(), error);
  }
  progress_->Ends(bytes);
  lock->lock();
}

}  // namespace sn_tf
