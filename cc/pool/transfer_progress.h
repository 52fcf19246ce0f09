// SPDX-License-Identifier: Apache-2.0
//
// Joins all queues whose transfers free memory of one device: who needs room
// there waits for any of them.
#ifndef SN_TF_CC_POOL_TRANSFER_PROGRESS_H_
#define SN_TF_CC_POOL_TRANSFER_PROGRESS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace sn_tf {

// Thread-safe.
class TransferProgress {
 public:
  // A transfer of so many bytes was pushed; one has ended: what it held is
  // released.
  void Begins(int64_t bytes);
  void Ends(int64_t bytes);

  // Of transfers that have begun and not ended.
  int64_t pending_bytes() const;

  // Waits until a transfer has ended. Returns false where none is left to wait
  // for; then, or when a thread that makes transfers asks, waiting would never
  // end. True after `timeout` too.
  //
  // `*seen` is the caller's memory, 0 at first: a transfer that ended since
  // the caller's last look counts as progress. So none is missed between a
  // failed attempt and the wait that follows it.
  bool Wait(uint64_t* seen, std::chrono::nanoseconds timeout);

  // Spent in Wait, by all its callers.
  double wait_seconds() const;

  // While one lives, its thread makes transfers that are reported to
  // `progress`.
  class Worker {
   public:
    explicit Worker(const TransferProgress* progress);
    ~Worker();

    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
  };

 private:
  mutable std::mutex mutex_;
  std::condition_variable ended_one_;
  uint64_t begun_ = 0;  // Ever.
  uint64_t ended_ = 0;  // Of those.
  int64_t pending_bytes_ = 0;
  double wait_seconds_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_TRANSFER_PROGRESS_H_
