// SPDX-License-Identifier: Apache-2.0
//
// One direction of a link: transfers on a thread of its own, the one needed
// soonest first, chunk by chunk, so that an urgent one overtakes a long one.
#ifndef SN_TF_CC_POOL_TRANSFER_QUEUE_H_
#define SN_TF_CC_POOL_TRANSFER_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "cc/pool/tier.h"
#include "cc/pool/transfer_progress.h"

namespace sn_tf {

struct Transfer {
  int64_t bytes = 0;
  // Position in the plan at which it is needed; the smallest goes first, and
  // of equals the one that was pushed first.
  int64_t needed_at = 0;
  std::unique_ptr<TierCopy> copy;
  // Called once: after the last chunk, after an error, or because it was
  // cancelled. `copy` lives until it has returned. Must not block: the queue's
  // next transfer waits for it.
  std::function<void(TierCopy* copy, const TierError& error)> done;
};

struct TransferQueueStats {
  int64_t bytes = 0;      // Copied.
  int64_t transfers = 0;  // That ended well.
  double seconds = 0;     // Spent copying.
};

class TransferQueue {
 public:
  // Names a transfer of this queue; 0 names none.
  using Ticket = uint64_t;

  // `name` names the thread: 15 characters are kept. `progress` is told of
  // each transfer, and must outlive the queue.
  TransferQueue(std::string name, TransferProgress* progress)
      : name_(std::move(name)), progress_(progress) {}

  // Finishes what was pushed. `done` must not push more by then.
  ~TransferQueue();

  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;

  // Never waits. The thread starts with the first transfer, so that a process
  // that moves nothing has none, and one that forks before it moves anything
  // has one in each child that does.
  Ticket Push(Transfer transfer);

  // The transfer is needed at `needed_at` now. Nothing where it has ended.
  void Hurry(Ticket ticket, int64_t needed_at);

  // The transfer ends with kCancelled instead of its next chunk. Nothing where
  // it has ended.
  void Cancel(Ticket ticket);

  TransferQueueStats stats() const;

 private:
  struct Pending {
    Transfer transfer;
    bool cancelled = false;
  };
  // Needed at, ticket.
  using Order = std::pair<int64_t, Ticket>;

  void Run();
  // The pending transfer with that ticket, or the end.
  std::map<Order, Pending>::iterator Find(Ticket ticket);
  // Copies a chunk of what is needed soonest, and ends it if that was the
  // last.
  void Serve(std::unique_lock<std::mutex>* lock);

  const std::string name_;
  TransferProgress* const progress_;
  mutable std::mutex mutex_;
  std::condition_variable pushed_;  // Or stopping_ was set.
  std::map<Order, Pending> pending_;
  std::map<Ticket, int64_t> needed_at_;  // Of the pending ones.
  Ticket last_ticket_ = 0;
  TransferQueueStats stats_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_TRANSFER_QUEUE_H_
