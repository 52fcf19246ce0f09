// SPDX-License-Identifier: Apache-2.0
#include "tests/cc/fake_tier.h"

#include <algorithm>

namespace sn_tf {

class FakeTier::Write : public TierWrite {
 public:
  Write(FakeTier* tier, const void* source, int64_t bytes)
      : tier_(tier),
        source_(static_cast<const uint8_t*>(source)),
        bytes_(bytes) {}
  ~Write() override {
    if (!taken_) tier_->Take(-bytes_);
  }

  Progress CopyChunk(TierError* error) override {
    *error = tier_->Ask(Step::kWrite, chunk_++);
    if (!error->ok()) return Progress::kFailed;
    const auto done = static_cast<int64_t>(copy_.size());
    const int64_t end = std::min(bytes_, done + kChunkBytes);
    copy_.insert(copy_.end(), source_ + done, source_ + end);
    return end == bytes_ ? Progress::kDone : Progress::kMore;
  }

  StoredBuffer Take() override {
    taken_ = true;
    std::lock_guard<std::mutex> lock(tier_->mutex_);
    const int64_t location = ++tier_->locations_;
    tier_->stored_[location] = std::move(copy_);
    return StoredBuffer(tier_, location, bytes_);
  }

 private:
  FakeTier* const tier_;
  const uint8_t* const source_;
  const int64_t bytes_;
  Bytes copy_;
  int chunk_ = 0;
  bool taken_ = false;
};

class FakeTier::Read : public TierCopy {
 public:
  Read(FakeTier* tier, const Bytes& stored, bool corrupt, void* destination)
      : tier_(tier),
        stored_(stored),
        corrupt_(corrupt),
        destination_(static_cast<uint8_t*>(destination)) {}

  Progress CopyChunk(TierError* error) override {
    *error = tier_->Ask(Step::kRead, chunk_++);
    if (!error->ok()) return Progress::kFailed;
    const auto bytes = static_cast<int64_t>(stored_.size());
    const int64_t end = std::min(bytes, done_ + kChunkBytes);
    std::copy(stored_.begin() + done_, stored_.begin() + end,
              destination_ + done_);
    if (corrupt_ && done_ == 0 && bytes > 0) destination_[0] ^= 1;
    done_ = end;
    return done_ == bytes ? Progress::kDone : Progress::kMore;
  }

 private:
  FakeTier* const tier_;
  const Bytes& stored_;
  const bool corrupt_;
  uint8_t* const destination_;
  int64_t done_ = 0;
  int chunk_ = 0;
};

void FakeTier::CorruptReads(int count) {
  std::lock_guard<std::mutex> lock(mutex_);
  corrupt_reads_ = count;
}

std::unique_ptr<TierWrite> FakeTier::BeginWrite(const void* source,
                                                int64_t bytes,
                                                TierError* error) {
  *error = Ask(Step::kBeginWrite, 0);
  if (!error->ok()) return nullptr;
  if (!Take(bytes)) {
    *error = {TierError::Kind::kFull, name_ + " is full."};
    return nullptr;
  }
  return std::make_unique<Write>(this, source, bytes);
}

std::unique_ptr<TierCopy> FakeTier::BeginRead(const StoredBuffer& stored,
                                              void* destination) {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool corrupt = corrupt_reads_ > 0;
  if (corrupt) --corrupt_reads_;
  return std::make_unique<Read>(this, stored_.at(stored.location()), corrupt,
                                destination);
}

TierUsage FakeTier::usage() const {
  std::lock_guard<std::mutex> lock(mutex_);
  TierUsage usage;
  usage.limit_bytes = limit_bytes_;
  usage.taken_bytes = taken_bytes_;
  for (const auto& [location, bytes] : stored_) {
    usage.stored_bytes += static_cast<int64_t>(bytes.size());
  }
  return usage;
}

void FakeTier::Free(int64_t location) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = stored_.find(location);
  taken_bytes_ -= static_cast<int64_t>(found->second.size());
  stored_.erase(found);
}

TierError FakeTier::Ask(Step step, int chunk) const {
  return hook_ ? hook_(step, chunk) : TierError();
}

bool FakeTier::Take(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (taken_bytes_ + bytes > limit_bytes_) return false;
  taken_bytes_ += bytes;
  return true;
}

}  // namespace sn_tf
