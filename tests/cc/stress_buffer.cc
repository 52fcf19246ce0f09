// SPDX-License-Identifier: Apache-2.0
#include "tests/cc/stress_buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sn_tf {
namespace {

using Kind = TierError::Kind;
using Transit = UnifiedPool::Transit;

// More attempts than progress can be missed in.
constexpr int kMostAttempts = 256;

// Words that differ, with zeros between, as after a ReLU.
uint64_t WordAt(uint64_t seed, uint64_t at) {
  const uint64_t mixed = (seed + at) * 0x9E3779B97F4A7C15;
  return mixed >> 63 != 0 ? 0 : mixed ^ (mixed >> 29);
}

}  // namespace

std::optional<StressDevice::Block> StressDevice::Allocate(int64_t bytes,
                                                          uint64_t* seen) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    int64_t in_use = in_use_bytes_;
    while (in_use + bytes <= budget_bytes_) {
      if (in_use_bytes_.compare_exchange_weak(in_use, in_use + bytes)) {
        return Block(this, bytes);
      }
    }
    if (!cache.MakeRoom(in_use + bytes - budget_bytes_, seen)) break;
  }
  return std::nullopt;
}

StressBuffer::StressBuffer(StressDevice* device, UnifiedPool* pool,
                           StressCounts* counts, uint64_t seed, int64_t bytes,
                           StressDevice::Block block)
    : device_(device),
      pool_(pool),
      counts_(counts),
      seed_(seed),
      bytes_(bytes),
      block_(std::move(block)) {
  ++counts_->live;
  StressDevice::Words& words = block_->words();
  for (size_t i = 0; i < words.size(); ++i) words[i] = WordAt(seed_, i);
}

StressBuffer::~StressBuffer() {
  device_->cache.Erase(this);
  block_.reset();
  stored_.reset();
  --counts_->live;
}

bool StressBuffer::IsRight(const StressDevice::Words& words) const {
  const auto whole = static_cast<size_t>(bytes_ / 8);
  for (size_t i = 0; i < whole; ++i) {
    if (words[i] != WordAt(seed_, i)) return false;
  }
  if (bytes_ % 8 == 0) return true;
  // Of the last word only the first bytes are moved.
  const uint64_t mask = (uint64_t{1} << (bytes_ % 8 * 8)) - 1;
  return (words[whole] & mask) == (WordAt(seed_, whole) & mask);
}

std::shared_ptr<Transit> StressBuffer::NewTransit() {
  std::lock_guard<std::mutex> lock(mutex_);
  transit_ = std::make_shared<Transit>();
  return transit_;
}

std::shared_ptr<Transit> StressBuffer::transit() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return transit_;
}

void StressBuffer::Hurry() {
  const std::shared_ptr<Transit> under_way = transit();
  if (under_way != nullptr) under_way->Hurry();
}

void StressBuffer::Cancel() {
  const std::shared_ptr<Transit> under_way = transit();
  if (under_way != nullptr) under_way->Cancel();
}

bool StressBuffer::IsLocked() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return !block_.has_value() || leaving_ || users_ > 0;
}

Evictable::Eviction StressBuffer::Evict() {
  const void* source;
  {
    std::optional<StressDevice::Block> gone;
    std::lock_guard<std::mutex> lock(mutex_);
    if (!block_.has_value() || leaving_ || users_ > 0) {
      return Eviction::kFailed;
    }
    if (stored_ != nullptr) {
      gone.emplace(std::move(*block_));
      block_.reset();
      return Eviction::kFreed;
    }
    leaving_ = true;
    source = block_->words().data();
  }
  pool_->Store(
      "stress/" + std::to_string(seed_), source, bytes_, /*needed_at=*/bytes_,
      NewTransit(),
      [self = shared_from_this()](PooledBuffer stored, const TierError& error) {
        self->OnOut(std::move(stored), error);
      });
  std::lock_guard<std::mutex> lock(mutex_);
  return leaving_ || !block_.has_value() ? Eviction::kLeaving
                                         : Eviction::kFailed;
}

void StressBuffer::OnOut(PooledBuffer stored, const TierError& error) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    leaving_ = false;
    if (error.ok()) {
      stored_ = std::make_shared<PooledBuffer>(std::move(stored));
      if (users_ == 0) block_.reset();
    }
  }
  EXPECT_EQ(error.ok(), error.message.empty());
  if (error.kind == Kind::kFailed || error.kind == Kind::kFull) {
    device_->cache.Refused(this, error.message);
  }
}

bool StressBuffer::Claim() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (block_.has_value() || returning_) return false;
  returning_ = true;
  no_memory_ = false;
  failed_ = TierError();
  return true;
}

void StressBuffer::BringBack(uint64_t* seen) {
  std::optional<StressDevice::Block> block = device_->Allocate(bytes_, seen);
  if (!block.has_value()) {
    std::lock_guard<std::mutex> lock(mutex_);
    returning_ = false;
    no_memory_ = true;
    back_.notify_all();
    return;
  }
  std::shared_ptr<PooledBuffer> stored;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stored = stored_;
  }
  auto to = std::make_shared<StressDevice::Block>(*std::move(block));
  void* const destination = to->words().data();
  const PooledBuffer& from = *stored;
  pool_->Load(from, destination, /*needed_at=*/bytes_, NewTransit(),
              [self = shared_from_this(), stored, to](const TierError& error) {
                self->OnBack(std::move(*to), error);
              });
}

void StressBuffer::OnBack(StressDevice::Block block, const TierError& error) {
  std::lock_guard<std::mutex> lock(mutex_);
  returning_ = false;
  failed_ = error;
  if (error.ok()) block_.emplace(std::move(block));
  back_.notify_all();
}

void StressBuffer::Prefetch(uint64_t* seen) {
  if (Claim()) BringBack(seen);
}

bool StressBuffer::Use(uint64_t* seen) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++users_;
  }
  if (Claim()) BringBack(seen);
  const StressDevice::Words* words = nullptr;
  TierError failed;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    back_.wait(lock, [this] { return block_.has_value() || !returning_; });
    if (block_.has_value()) words = &block_->words();
    failed = failed_;
  }
  if (words != nullptr) {
    ++(IsRight(*words) ? counts_->right : counts_->wrong);
  } else if (failed.ok()) {
    ++counts_->no_memory;
  } else if (failed.kind == Kind::kCancelled) {
    ++counts_->cancelled;
  } else {
    EXPECT_NE(failed.message.find(" is lost. "), std::string::npos);
    ++counts_->lost;
  }
  bool here;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    --users_;
    here = block_.has_value() && !leaving_;
  }
  if (here) device_->cache.Insert(shared_from_this());
  return words != nullptr || failed.ok() || failed.kind == Kind::kCancelled;
}

}  // namespace sn_tf
