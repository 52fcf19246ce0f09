// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/tensor_cache.h"

#include <chrono>
#include <utility>

namespace sn_tf {
namespace {

// Longer than any transfer takes; only to not sleep for ever should one hang.
constexpr std::chrono::seconds kLongestWait{60};

}  // namespace

void TensorCache::Insert(const std::shared_ptr<Evictable>& buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  refused_.erase(buffer.get());
  if (buffers_.emplace(buffer.get(), buffer).second) {
    stats_.cached_bytes += buffer->bytes();
  }
  order_.Touch(buffer.get());
}

void TensorCache::Touch(const Evictable* buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (buffers_.count(buffer) > 0) order_.Touch(buffer);
}

void TensorCache::Erase(const Evictable* buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  refused_.erase(buffer);
  if (buffers_.erase(buffer) == 0) return;
  order_.Erase(buffer);
  stats_.cached_bytes -= buffer->bytes();
}

std::vector<std::shared_ptr<Evictable>> TensorCache::TakeVictims(
    int64_t bytes) {
  std::vector<std::shared_ptr<Evictable>> victims;
  // Whose last owner this turns out to be ends after the lock: it erases
  // itself.
  std::vector<std::shared_ptr<Evictable>> passed_over;
  std::lock_guard<std::mutex> lock(mutex_);
  int64_t found = 0;
  for (const Evictable* const key : order_) {
    if (found >= bytes) break;
    // One on its way out of this world frees its memory by itself.
    std::shared_ptr<Evictable> buffer = buffers_.at(key).lock();
    if (buffer == nullptr) continue;
    if (buffer->IsLocked()) {
      passed_over.push_back(std::move(buffer));
      continue;
    }
    found += buffer->bytes();
    victims.push_back(std::move(buffer));
  }
  for (const std::shared_ptr<Evictable>& victim : victims) {
    order_.Erase(victim.get());
    buffers_.erase(victim.get());
    stats_.cached_bytes -= victim->bytes();
  }
  return victims;
}

void TensorCache::Evict(int64_t bytes) {
  int64_t leaving = 0;
  while (leaving < bytes) {
    const auto victims = TakeVictims(bytes - leaving);
    if (victims.empty()) return;
    for (const std::shared_ptr<Evictable>& victim : victims) {
      const Evictable::Eviction eviction = victim->Evict();
      if (eviction == Evictable::Eviction::kFailed) continue;
      leaving += victim->bytes();
      if (eviction == Evictable::Eviction::kFreed) {
        leaving_->Begins(0);
        leaving_->Ends(0);
      }
      std::lock_guard<std::mutex> lock(mutex_);
      ++stats_.evictions;
    }
  }
}

bool TensorCache::MakeRoom(int64_t bytes, uint64_t* seen) {
  Evict(bytes - leaving_->pending_bytes());
  return leaving_->Wait(seen, kLongestWait);
}

void TensorCache::CountHit() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++stats_.hits;
}

void TensorCache::CountMiss() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++stats_.misses;
}

void TensorCache::Refused(const Evictable* buffer, std::string reason) {
  std::lock_guard<std::mutex> lock(mutex_);
  refused_[buffer] = buffer->bytes();
  refusal_ = std::move(reason);
}

int64_t TensorCache::evictable_bytes() const {
  const int64_t locked = immovable().locked_bytes;
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_.cached_bytes - locked;
}

ImmovableMemory TensorCache::immovable() const {
  std::vector<std::shared_ptr<Evictable>> looked_at;  // See TakeVictims.
  ImmovableMemory immovable;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, weak] : buffers_) {
    std::shared_ptr<Evictable> buffer = weak.lock();
    if (buffer == nullptr) continue;
    if (buffer->IsLocked()) {
      ++immovable.locked_buffers;
      immovable.locked_bytes += buffer->bytes();
    }
    looked_at.push_back(std::move(buffer));
  }
  for (const auto& [key, bytes] : refused_) {
    ++immovable.refused_buffers;
    immovable.refused_bytes += bytes;
  }
  if (!refused_.empty()) immovable.reason = refusal_;
  return immovable;
}

TensorCacheStats TensorCache::stats() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

}  // namespace sn_tf
