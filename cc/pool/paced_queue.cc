// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/paced_queue.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "cc/pool/stream_copy.h"

namespace sn_tf {

// All in one piece: who waits for the modelled link would gain nothing from
// chunks.
class PacedQueue::PacedCopy : public TierCopy {
 public:
  PacedCopy(PacedQueue* queue, void* destination, const void* source,
            int64_t bytes, Clock::duration modelled)
      : queue_(queue),
        destination_(destination),
        source_(source),
        bytes_(bytes),
        modelled_(modelled) {}

  Progress CopyChunk(TierError* /*error*/) override {
    // From when it could have begun, so that late wake-ups do not add up.
    const Clock::time_point begin = std::max(pushed_, queue_->free_at_);
    StreamCopy(destination_, source_, bytes_);
    queue_->free_at_ = std::max(begin + modelled_, Clock::now());
    queue_->busy_ += (queue_->free_at_ - begin).count();
    queue_->modelled_ += modelled_.count();
    std::this_thread::sleep_until(queue_->free_at_);
    queue_->stalls_->CopyEnds();
    return Progress::kDone;
  }

 private:
  PacedQueue* const queue_;
  void* const destination_;
  const void* const source_;
  const int64_t bytes_;
  const Clock::duration modelled_;
  const Clock::time_point pushed_ = Clock::now();
};

void PacedQueue::Copy(void* destination, const void* source, int64_t bytes,
                      HostMemory memory, std::function<void()> done) {
  const auto modelled = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(model_.Seconds(bytes, memory)));
  stalls_->CopyBegins();
  Transfer transfer;
  transfer.bytes = bytes;
  transfer.copy =
      std::make_unique<PacedCopy>(this, destination, source, bytes, modelled);
  transfer.done = [done = std::move(done)](TierCopy* /*copy*/,
                                           const TierError& /*error*/) {
    done();
  };
  queue_.Push(std::move(transfer));
}

TransferQueueStats PacedQueue::stats() const {
  TransferQueueStats stats = queue_.stats();
  stats.seconds = std::chrono::duration<double>(Clock::duration(busy_)).count();
  return stats;
}

double PacedQueue::modelled_seconds() const {
  return std::chrono::duration<double>(Clock::duration(modelled_)).count();
}

}  // namespace sn_tf
