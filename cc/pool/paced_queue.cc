// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/paced_queue.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "cc/pool/stream_copy.h"

namespace sn_tf {

void PacedQueue::Copy(void* destination, const void* source, int64_t bytes,
                      HostMemory memory, std::function<void()> done) {
  const Clock::time_point pushed = Clock::now();
  const auto modelled = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(model_.Seconds(bytes, memory)));
  stalls_->CopyBegins();
  Transfer transfer;
  transfer.bytes = bytes;
  transfer.copy = [=] {
    // From when it could have begun, so that late wake-ups do not add up.
    const Clock::time_point begin = std::max(pushed, free_at_);
    StreamCopy(destination, source, bytes);
    free_at_ = std::max(begin + modelled, Clock::now());
    busy_ += (free_at_ - begin).count();
    modelled_ += modelled.count();
    std::this_thread::sleep_until(free_at_);
    stalls_->CopyEnds();
    return std::string();
  };
  transfer.done = [done = std::move(done)](const std::string& /*error*/) {
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
