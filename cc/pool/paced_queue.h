// SPDX-License-Identifier: Apache-2.0
//
// One direction of a modelled link: real copies, none of which ends before the
// model lets it. A copy for which this machine needs longer than the modelled
// link would ends late; the copies after it then start from there.
#ifndef SN_TF_CC_POOL_PACED_QUEUE_H_
#define SN_TF_CC_POOL_PACED_QUEUE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cc/pool/link_model.h"
#include "cc/pool/stall_clock.h"
#include "cc/pool/transfer_progress.h"
#include "cc/pool/transfer_queue.h"

namespace sn_tf {

class PacedQueue {
 public:
  // `name` names the thread: 15 characters are kept. `stalls` is told of the
  // copies.
  PacedQueue(std::string name, const LinkModel& model, StallClock* stalls)
      : model_(model), stalls_(stalls), queue_(std::move(name), &progress_) {}

  // Copies after what was pushed before, then calls `done`, which must not
  // block. `memory` is the kind of the copy's side in host memory.
  void Copy(void* destination, const void* source, int64_t bytes,
            HostMemory memory, std::function<void()> done);

  TransferProgress& progress() { return progress_; }
  const TransferProgress& progress() const { return progress_; }

  // `seconds` is the time in which the direction was busy.
  TransferQueueStats stats() const;

  // The time in which it would have been, had this machine kept up.
  double modelled_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  class PacedCopy;

  const LinkModel model_;
  StallClock* const stalls_;
  Clock::time_point free_at_{};  // Of the queue's thread only.
  std::atomic<Clock::duration::rep> busy_{0};
  std::atomic<Clock::duration::rep> modelled_{0};
  TransferProgress progress_;
  TransferQueue queue_;  // Last: its thread uses the others.
};

// Both directions of a device's link.
class PacedLink {
 public:
  PacedLink(const std::string& device, const LinkModel& model)
      : model(model),
        to_device(device + "_in", model, &stalls),
        to_host(device + "_out", model, &stalls) {}

  double AgeSeconds() const {
    return std::chrono::duration<double>(Clock::now() - made_at_).count();
  }

  const LinkModel model;
  StallClock stalls;  // Before the queues: they tell it.
  PacedQueue to_device;
  PacedQueue to_host;

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point made_at_ = Clock::now();
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_PACED_QUEUE_H_
