// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/refusal_sink.h"

#include <utility>

namespace sn_tf {

void RefusalSink::Open(int64_t step_id) {
  absl::MutexLock lock(&mutex_);
  open_for_ = step_id;
  first_.reset();
}

std::optional<Refusal> RefusalSink::Close() {
  absl::MutexLock lock(&mutex_);
  open_for_.reset();
  memory_.reset();
  return std::exchange(first_, std::nullopt);
}

void* RefusalSink::Take(int64_t step_id, const Refusal& refusal,
                        bool plain_bytes) {
  absl::MutexLock lock(&mutex_);
  if (open_for_ != step_id && open_for_ != kAnyStep) return nullptr;
  if (!memory_.has_value()) memory_.emplace();
  AlignedMapping block = plain_bytes && refusal.bytes >= kLeastBytes
                             ? memory_->Map(refusal.bytes)
                             : AlignedMapping(refusal.bytes);
  void* const base = block.base();
  if (base == nullptr) return nullptr;
  if (!first_.has_value()) first_ = refusal;
  blocks_[base] = std::move(block);
  return base;
}

int64_t RefusalSink::Release(const void* block) {
  absl::MutexLock lock(&mutex_);
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return 0;
  const int64_t bytes = found->second.bytes();
  blocks_.erase(found);
  return bytes;
}

int64_t RefusalSink::SizeOf(const void* block) const {
  absl::MutexLock lock(&mutex_);
  const auto found = blocks_.find(block);
  return found == blocks_.end() ? 0 : found->second.bytes();
}

}  // namespace sn_tf
