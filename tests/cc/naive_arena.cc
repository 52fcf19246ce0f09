// SPDX-License-Identifier: Apache-2.0
#include "tests/cc/naive_arena.h"

#include <algorithm>
#include <iterator>

namespace sn_tf {

NaiveArena::NaiveArena(int64_t capacity_bytes, int64_t unit_bytes)
    : capacity_(capacity_bytes / unit_bytes * unit_bytes), unit_(unit_bytes) {
  if (capacity_ > 0) free_[0] = capacity_;
}

int64_t NaiveArena::RoundUp(int64_t bytes) const {
  const int64_t units = bytes / unit_ + (bytes % unit_ > 0 ? 1 : 0);
  return std::max(unit_, units * unit_);
}

NaiveArena::Ranges::const_iterator NaiveArena::BestFit(int64_t bytes) const {
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    if (best == free_.end() || it->second < best->second) best = it;
  }
  return best;
}

int64_t NaiveArena::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > capacity_) return Arena::kNoOffset;
  const int64_t rounded = RoundUp(bytes);
  const auto range = BestFit(rounded);
  if (range == free_.end()) return Arena::kNoOffset;
  return Place(range, rounded, 0);
}

int64_t NaiveArena::Allocate(int64_t bytes, int64_t alignment_bytes) {
  if (alignment_bytes <= unit_) return Allocate(bytes);
  if (bytes < 0 || bytes > capacity_) return Arena::kNoOffset;
  const int64_t rounded = RoundUp(bytes);
  const auto padding_in = [alignment_bytes](int64_t offset) {
    const int64_t beyond = offset % alignment_bytes;
    return beyond == 0 ? 0 : alignment_bytes - beyond;
  };
  auto range = BestFit(rounded);
  if (range == free_.end()) return Arena::kNoOffset;
  if (padding_in(range->first) > range->second - rounded) {
    const int64_t most_padding = alignment_bytes - unit_;
    if (most_padding > capacity_ - rounded) return Arena::kNoOffset;
    range = BestFit(rounded + most_padding);
    if (range == free_.end()) return Arena::kNoOffset;
  }
  return Place(range, rounded, padding_in(range->first));
}

int64_t NaiveArena::Place(Ranges::const_iterator range, int64_t bytes,
                          int64_t padding) {
  const auto [start, size] = *range;
  free_.erase(range);
  const int64_t offset = start + padding;
  const int64_t rest = size - padding - bytes;
  if (padding > 0) free_[start] = padding;
  if (rest > 0) free_[offset + bytes] = rest;
  in_use_[offset] = bytes;
  peak_ = std::max(peak_, stats().in_use_bytes);
  high_water_ = std::max(high_water_, offset + bytes);
  ++allocations_;
  return offset;
}

void NaiveArena::MakeFree(int64_t offset, int64_t bytes) {
  const auto next = free_.find(offset + bytes);
  if (next != free_.end()) {
    bytes += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

int64_t NaiveArena::Free(int64_t offset) {
  const int64_t bytes = in_use_.at(offset);
  in_use_.erase(offset);
  MakeFree(offset, bytes);
  return bytes;
}

int64_t NaiveArena::SizeOf(int64_t offset) const {
  const auto found = in_use_.find(offset);
  return found == in_use_.end() ? 0 : found->second;
}

std::vector<NaiveArena::Range> NaiveArena::FreeRanges(int64_t min_bytes) const {
  std::vector<Range> ranges;
  for (const auto& [offset, bytes] : free_) {
    if (bytes >= min_bytes) ranges.push_back({offset, bytes});
  }
  std::stable_sort(
      ranges.begin(), ranges.end(),
      [](const Range& a, const Range& b) { return a.bytes < b.bytes; });
  return ranges;
}

void NaiveArena::Hold(int64_t offset) {
  held_[offset] = free_.at(offset);
  free_.erase(offset);
}

void NaiveArena::Release(int64_t offset) {
  const int64_t bytes = held_.at(offset);
  held_.erase(offset);
  MakeFree(offset, bytes);
}

void NaiveArena::ResetPeak() {
  peak_ = stats().in_use_bytes;
  high_water_ =
      in_use_.empty() ? 0 : in_use_.rbegin()->first + in_use_.rbegin()->second;
}

ArenaStats NaiveArena::stats() const {
  ArenaStats stats;
  for (const auto& [offset, bytes] : in_use_) stats.in_use_bytes += bytes;
  for (const auto& [offset, bytes] : free_) {
    stats.largest_free_bytes = std::max(stats.largest_free_bytes, bytes);
  }
  stats.peak_bytes = peak_;
  stats.high_water_bytes = high_water_;
  stats.allocations = allocations_;
  return stats;
}

}  // namespace sn_tf
