// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/shared_arena.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sn_tf {

SharedArena::Block::Block(Block&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)),
      offset_(std::exchange(other.offset_, 0)) {}

SharedArena::Block& SharedArena::Block::operator=(Block&& other) noexcept {
  // What was held here goes at the end of `old`, also in a self-move.
  Block old(std::move(other));
  std::swap(arena_, old.arena_);
  std::swap(offset_, old.offset_);
  return *this;
}

SharedArena::Block::~Block() {
  if (arena_ == nullptr) return;
  std::lock_guard<std::mutex> lock(arena_->mutex_);
  arena_->arena_.Free(offset_);
}

SharedArena::Block SharedArena::Allocate(int64_t bytes) {
  std::unique_lock<std::mutex> lock(mutex_);
  int64_t offset = arena_.Allocate(bytes);
  while (offset == Arena::kNoOffset && releases_ > 0) {
    // What another thread holds is free, and back in a moment.
    released_.wait(lock);
    offset = arena_.Allocate(bytes);
  }
  return offset == Arena::kNoOffset ? Block() : Block(this, offset);
}

int64_t SharedArena::in_use_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return arena_.in_use_bytes();
}

int64_t SharedArena::largest_free_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return arena_.stats().largest_free_bytes;
}

void SharedArena::ReleaseFree(
    int64_t least_bytes,
    const std::function<void(int64_t offset, int64_t bytes)>& release) {
  std::vector<Arena::FreeRange> free_ranges;
  int64_t touched_bytes;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    free_ranges = arena_.FreeRanges(least_bytes);
    for (const Arena::FreeRange& range : free_ranges) arena_.Hold(range);
    ++releases_;
    touched_bytes = arena_.stats().high_water_bytes;
  }
  // Held, no block can be placed there meanwhile.
  for (const Arena::FreeRange& range : free_ranges) {
    const int64_t end = std::min(range.offset + range.bytes, touched_bytes);
    if (end > range.offset) release(range.offset, end - range.offset);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Arena::FreeRange& range : free_ranges) arena_.Release(range);
  --releases_;
  released_.notify_all();
}

}  // namespace sn_tf
