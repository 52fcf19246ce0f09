// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/unified_pool.h"

#include <limits>

#include "cc/core/bytes.h"
#include "cc/pool/checked_copy.h"

namespace sn_tf {
namespace {

// A tier that fails so often in a row is not asked any more.
constexpr int kMostFaultsInARow = 3;
constexpr int kMoreAttemptsToLoad = 1;
constexpr int64_t kAtOnce = std::numeric_limits<int64_t>::min() + 1;

// In place of a copy that was cancelled before it began.
class CancelledCopy : public TierCopy {
 public:
  Progress CopyChunk(TierError* error) override {
    *error = {TierError::Kind::kCancelled, "Nobody needs the copy any more."};
    return Progress::kFailed;
  }
};

}  // namespace

// A buffer on its way to whichever tier takes it.
struct UnifiedPool::Storing {
  std::string name;
  const void* source = nullptr;
  int64_t bytes = 0;
  int64_t needed_at = 0;
  StoreDone done;
  std::shared_ptr<Transit> transit;
  TierError last_error;  // Of the tiers asked so far.
};

struct UnifiedPool::Loading {
  const PooledBuffer* buffer = nullptr;
  void* destination = nullptr;
  int64_t needed_at = 0;
  LoadDone done;
  std::shared_ptr<Transit> transit;
  int attempts_left = kMoreAttemptsToLoad;
};

UnifiedPool::UnifiedPool(std::vector<PoolTier> tiers,
                         TransferProgress* leaving) {
  for (PoolTier& tier : tiers) {
    const std::string name = std::string("sn_") + tier.tier->name();
    members_.push_back(
        std::make_unique<Member>(std::move(tier), name, leaving));
  }
}

bool UnifiedPool::IsBroken(const Member& member) {
  return member.failed_stores_in_a_row >= kMostFaultsInARow ||
         member.failed_loads_in_a_row >= kMostFaultsInARow;
}

void UnifiedPool::Note(Member* member, std::atomic<int>* faults_in_a_row,
                       const TierError& error) {
  switch (error.kind) {
    case TierError::Kind::kNone:
      if (!IsBroken(*member)) *faults_in_a_row = 0;
      break;
    case TierError::Kind::kFailed:
    case TierError::Kind::kCorrupt:
      ++member->faults;
      ++*faults_in_a_row;
      break;
    case TierError::Kind::kFull:
    case TierError::Kind::kCancelled:
      break;
  }
}

void UnifiedPool::Store(std::string name, const void* source, int64_t bytes,
                        int64_t needed_at, std::shared_ptr<Transit> transit,
                        StoreDone done) {
  auto storing = std::make_shared<Storing>();
  storing->name = std::move(name);
  storing->source = source;
  storing->bytes = bytes;
  storing->needed_at = needed_at;
  storing->done = std::move(done);
  storing->transit = std::move(transit);
  storing->last_error = {TierError::Kind::kFull, "No tier was left to store " +
                                                     storing->name + " (" +
                                                     FormatBytes(bytes) + ")."};
  StoreFrom(0, std::move(storing));
}

void UnifiedPool::StoreFrom(size_t tier, std::shared_ptr<Storing> storing) {
  for (; tier < members_.size(); ++tier) {
    Member& member = *members_[tier];
    if (IsBroken(member)) continue;
    TierError error;
    std::unique_ptr<TierWrite> write =
        member.of.tier->BeginWrite(storing->source, storing->bytes, &error);
    if (write == nullptr) {
      Note(&member, &member.failed_stores_in_a_row, error);
      storing->last_error = std::move(error);
      continue;
    }
    if (member.of.checked) {
      write = std::make_unique<CheckedWrite>(std::move(write), storing->source,
                                             storing->bytes);
    }
    Transfer transfer;
    transfer.bytes = storing->bytes;
    transfer.needed_at = storing->needed_at;
    transfer.copy = std::move(write);
    transfer.done = [this, tier, storing](TierCopy* copy,
                                          const TierError& error) {
      EndStore(tier, storing, copy, error);
    };
    storing->transit->Push(&member.link.out, std::move(transfer));
    return;
  }
  storing->done(PooledBuffer(), storing->last_error);
}

void UnifiedPool::EndStore(size_t tier, const std::shared_ptr<Storing>& storing,
                           TierCopy* copy, const TierError& error) {
  Member* const member = members_[tier].get();
  Note(member, &member->failed_stores_in_a_row, error);
  if (error.kind == TierError::Kind::kCancelled) {
    storing->done(PooledBuffer(), error);
    return;
  }
  if (!error.ok()) {
    storing->last_error = error;
    StoreFrom(tier + 1, storing);
    return;
  }
  PooledBuffer buffer;
  buffer.stored = static_cast<TierWrite*>(copy)->Take();
  member->out_taken_bytes += member->of.tier->TakenBy(buffer.stored);
  buffer.tier = static_cast<int>(tier);
  buffer.name = storing->name;
  if (member->of.checked) {
    buffer.checksum = static_cast<CheckedWrite*>(copy)->checksum();
  }
  storing->done(std::move(buffer), error);
}

void UnifiedPool::Load(const PooledBuffer& buffer, void* destination,
                       int64_t needed_at, std::shared_ptr<Transit> transit,
                       LoadDone done) {
  auto loading = std::make_shared<Loading>();
  loading->buffer = &buffer;
  loading->destination = destination;
  loading->needed_at = needed_at;
  loading->done = std::move(done);
  loading->transit = std::move(transit);
  LoadOnce(loading);
}

void UnifiedPool::LoadOnce(const std::shared_ptr<Loading>& loading) {
  const PooledBuffer& buffer = *loading->buffer;
  Member* const member = members_[buffer.tier].get();
  Transfer transfer;
  transfer.bytes = buffer.stored.bytes();
  transfer.needed_at = loading->needed_at;
  transfer.copy =
      member->of.tier->BeginRead(buffer.stored, loading->destination);
  if (member->of.checked) {
    transfer.copy = std::make_unique<CheckedRead>(
        std::move(transfer.copy), loading->destination, transfer.bytes,
        buffer.checksum);
  }
  transfer.done = [this, member, loading](TierCopy* /*copy*/,
                                          const TierError& error) {
    Note(member, &member->failed_loads_in_a_row, error);
    // Nothing else has these bytes: what was wrong once may be right now.
    const bool failed = error.kind == TierError::Kind::kFailed ||
                        error.kind == TierError::Kind::kCorrupt;
    if (failed && loading->attempts_left-- > 0) {
      LoadOnce(loading);
    } else if (failed) {
      loading->done({error.kind, "Buffer " + loading->buffer->name +
                                     " is lost. " + error.message});
    } else {
      loading->done(error);
    }
  };
  loading->transit->Push(&member->link.in, std::move(transfer));
}

std::vector<PoolTierStats> UnifiedPool::stats() const {
  std::vector<PoolTierStats> all;
  for (const std::unique_ptr<Member>& member : members_) {
    PoolTierStats stats;
    stats.name = member->of.tier->name();
    stats.usage = member->of.tier->usage();
    stats.folder = member->of.folder;
    stats.warning = member->of.warning;
    stats.bandwidth = member->of.bandwidth;
    const TransferQueueStats out = member->link.out.stats();
    const TransferQueueStats in = member->link.in.stats();
    stats.out_bytes = out.bytes;
    stats.in_bytes = in.bytes;
    stats.out_taken_bytes = member->out_taken_bytes;
    stats.out_seconds = out.seconds;
    stats.in_seconds = in.seconds;
    stats.faults = member->faults;
    stats.broken = IsBroken(*member);
    all.push_back(std::move(stats));
  }
  return all;
}

void UnifiedPool::ReleaseFreeSpace() {
  for (const std::unique_ptr<Member>& member : members_) {
    member->of.tier->ReleaseFreeSpace();
  }
}

void UnifiedPool::Transit::Push(TransferQueue* queue, Transfer transfer) {
  // The transfer may end, and go on elsewhere, before Push returns: that waits
  // for this lock.
  std::lock_guard<std::mutex> lock(mutex_);
  if (hurried_ || cancelled_) transfer.needed_at = kAtOnce;
  if (cancelled_) transfer.copy = std::make_unique<CancelledCopy>();
  queue_ = queue;
  ticket_ = queue_->Push(std::move(transfer));
}

void UnifiedPool::Transit::Hurry() {
  std::lock_guard<std::mutex> lock(mutex_);
  hurried_ = true;
  if (queue_ != nullptr) queue_->Hurry(ticket_, kAtOnce);
}

void UnifiedPool::Transit::Cancel() {
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (queue_ != nullptr) queue_->Cancel(ticket_);
}

}  // namespace sn_tf
