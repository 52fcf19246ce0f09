// SPDX-License-Identifier: Apache-2.0
//
// One direction of a link: transfers in the order in which they were pushed,
// on a thread of its own.
#ifndef SN_TF_CC_POOL_TRANSFER_QUEUE_H_
#define SN_TF_CC_POOL_TRANSFER_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace sn_tf {

struct Transfer {
  int64_t bytes = 0;
  // Copies. Returns an empty string, or why it could not.
  std::function<std::string()> copy;
  // Called after `copy`, with what it returned. Must not block: the queue's
  // next transfer waits for it.
  std::function<void(const std::string& error)> done;
};

struct TransferQueueStats {
  int64_t bytes = 0;        // Copied.
  double seconds = 0;       // Spent copying.
  double wait_seconds = 0;  // Spent in WaitForProgress, by all its callers.
};

class TransferQueue {
 public:
  // `name` names the thread: 15 characters are kept.
  explicit TransferQueue(std::string name) : name_(std::move(name)) {}

  // Finishes what was pushed. `done` must not push more by then.
  ~TransferQueue();

  TransferQueue(const TransferQueue&) = delete;
  TransferQueue& operator=(const TransferQueue&) = delete;

  // Never waits. The thread starts with the first transfer, so that a process
  // that moves nothing has none, and one that forks before it moves anything
  // has one in each child that does.
  void Push(Transfer transfer);

  // Waits until a transfer has finished: `done` has returned, and what it held
  // is released. Returns false where none is left to wait for; then, or when
  // the queue's own thread asks, waiting would never end. True after `timeout`
  // too.
  //
  // `*seen` is the caller's memory, 0 at first: a transfer that finished since
  // the caller's last look counts as progress. So none is missed between a
  // failed attempt and the wait that follows it.
  bool WaitForProgress(uint64_t* seen, std::chrono::nanoseconds timeout);

  TransferQueueStats stats() const;

 private:
  void Run();

  const std::string name_;
  mutable std::mutex mutex_;
  std::condition_variable pushed_;    // Or stopping_ was set.
  std::condition_variable progress_;  // finished_ has grown.
  std::deque<Transfer> pending_;
  uint64_t accepted_ = 0;  // Transfers pushed, ever.
  uint64_t finished_ = 0;  // Of those.
  TransferQueueStats stats_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_TRANSFER_QUEUE_H_
