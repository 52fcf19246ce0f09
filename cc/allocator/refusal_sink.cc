// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/refusal_sink.h"

#include <utility>

namespace sn_tf {
namespace {

thread_local RefusalSink::OfThread* of_thread = nullptr;

}  // namespace

RefusalSink::OfThread::OfThread(RefusalSink* sink) : sink_(sink) {
  of_thread = this;
}

RefusalSink::OfThread::~OfThread() { of_thread = nullptr; }

void RefusalSink::Open(int64_t step_id) {
  absl::MutexLock lock(&mutex_);
  open_[step_id].reset();
}

bool RefusalSink::IsOpenFor(int64_t step_id) const {
  absl::MutexLock lock(&mutex_);
  return open_.count(step_id) > 0;
}

std::optional<Refusal> RefusalSink::FirstOf(int64_t step_id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = open_.find(step_id);
  return found == open_.end() ? std::nullopt : found->second;
}

std::optional<Refusal> RefusalSink::Close(int64_t step_id) {
  absl::MutexLock lock(&mutex_);
  const auto found = open_.find(step_id);
  if (found == open_.end()) return std::nullopt;
  std::optional<Refusal> first = std::move(found->second);
  open_.erase(found);
  if (open_.empty()) memory_.reset();
  return first;
}

std::optional<Refusal>* RefusalSink::OpenFor(int64_t step_id) {
  auto open = open_.find(step_id);
  if (open == open_.end()) open = open_.find(kAnyStep);
  if (open != open_.end()) return &open->second;
  const bool of_this = of_thread != nullptr && of_thread->sink_ == this;
  return of_this ? &of_thread->first_ : nullptr;
}

void* RefusalSink::Take(int64_t step_id, const Refusal& refusal,
                        bool plain_bytes) {
  absl::MutexLock lock(&mutex_);
  std::optional<Refusal>* const first = OpenFor(step_id);
  if (first == nullptr) return nullptr;
  if (!memory_.has_value()) memory_.emplace();
  AlignedMapping block = plain_bytes && refusal.bytes >= kLeastBytes
                             ? memory_->Map(refusal.bytes)
                             : AlignedMapping(refusal.bytes);
  void* const base = block.base();
  if (base == nullptr) return nullptr;
  if (!first->has_value()) *first = refusal;
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
