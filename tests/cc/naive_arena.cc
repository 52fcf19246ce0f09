// SPDX-License-Identifier: Apache-2.0
#include "tests/cc/naive_arena.h"

#include <algorithm>
#include <iterator>

namespace sn_tf {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kExtentBytes = 256 * kKiB;

int64_t PaddingAt(int64_t offset, int64_t alignment_bytes) {
  const int64_t beyond = offset % alignment_bytes;
  return beyond == 0 ? 0 : alignment_bytes - beyond;
}

}  // namespace

NaiveArena::NaiveArena(int64_t capacity_bytes, int64_t unit_bytes,
                       SmallBlocks small_blocks)
    : capacity_(capacity_bytes / unit_bytes * unit_bytes), unit_(unit_bytes) {
  const bool extents =
      small_blocks == SmallBlocks::kAuto && capacity_ / kExtentBytes >= 256;
  small_bytes_ = extents ? 32 * kKiB : 0;
  if (capacity_ > 0) pieces_[0].bytes = capacity_;
}

int64_t NaiveArena::RoundUp(int64_t bytes) const {
  const int64_t units = bytes / unit_ + (bytes % unit_ > 0 ? 1 : 0);
  return std::max(unit_, units * unit_);
}

NaiveArena::Pieces::iterator NaiveArena::BestFit(bool in_extent,
                                                 int64_t bytes) {
  auto best = pieces_.end();
  for (auto it = pieces_.begin(); it != pieces_.end(); ++it) {
    const Piece& piece = it->second;
    if (piece.state != State::kFree || piece.in_extent != in_extent) continue;
    if (piece.bytes < bytes) continue;
    if (best == pieces_.end() || piece.bytes < best->second.bytes) best = it;
  }
  return best;
}

int64_t NaiveArena::PaddingIn(Pieces::iterator piece, int64_t bytes,
                              int64_t alignment_bytes) {
  const int64_t most = piece->second.bytes - bytes;
  const bool is_last = std::next(piece) == pieces_.end();
  if (bytes < 64 * kKiB || is_last) {
    const int64_t padding = PaddingAt(piece->first, alignment_bytes);
    return padding > most ? -1 : padding;
  }
  const int64_t beyond = (piece->first + most) % alignment_bytes;
  return beyond > most ? -1 : most - beyond;
}

NaiveArena::Place NaiveArena::FindPlace(bool in_extent, int64_t bytes,
                                        int64_t alignment_bytes) {
  auto piece = BestFit(in_extent, bytes);
  if (piece == pieces_.end()) return {piece};
  int64_t padding = PaddingIn(piece, bytes, alignment_bytes);
  if (padding < 0) {
    const int64_t most_padding = alignment_bytes - unit_;
    if (most_padding > capacity_ - bytes) return {pieces_.end()};
    piece = BestFit(in_extent, bytes + most_padding);
    if (piece == pieces_.end()) return {piece};
    padding = PaddingIn(piece, bytes, alignment_bytes);
  }
  return {piece, padding};
}

NaiveArena::Place NaiveArena::FindSmallPlace(int64_t bytes,
                                             int64_t alignment_bytes) {
  const Place place = FindPlace(true, bytes, alignment_bytes);
  if (place.piece != pieces_.end()) return place;
  const auto extent = BestFit(false, kExtentBytes);
  if (extent == pieces_.end()) return place;
  Split(extent, kExtentBytes);
  extent->second.in_extent = true;
  Merge(extent);
  return FindPlace(true, bytes, alignment_bytes);
}

int64_t NaiveArena::Allocate(int64_t bytes, int64_t alignment_bytes) {
  if (bytes < 0 || bytes > capacity_) return Arena::kNoOffset;
  bytes = RoundUp(bytes);
  if (bytes >= 64 * kKiB && alignment_bytes < 512) alignment_bytes = 512;
  const bool small = std::max(bytes, alignment_bytes) <= small_bytes_;
  Place place{pieces_.end()};
  if (small) place = FindSmallPlace(bytes, alignment_bytes);
  for (const bool in_extent : {false, true}) {
    if (place.piece != pieces_.end()) break;
    place = FindPlace(in_extent, bytes, alignment_bytes);
  }
  if (place.piece == pieces_.end()) return Arena::kNoOffset;
  const auto block =
      place.padding > 0 ? Split(place.piece, place.padding) : place.piece;
  Split(block, bytes);
  block->second.state = State::kInUse;
  peak_ = std::max(peak_, stats().in_use_bytes);
  high_water_ = std::max(high_water_, block->first + bytes);
  ++allocations_;
  return block->first;
}

NaiveArena::Pieces::iterator NaiveArena::Split(Pieces::iterator piece,
                                               int64_t bytes) {
  Piece rest = piece->second;
  rest.bytes -= bytes;
  if (rest.bytes == 0) return pieces_.end();
  piece->second.bytes = bytes;
  return pieces_.emplace(piece->first + bytes, rest).first;
}

NaiveArena::Pieces::iterator NaiveArena::Merge(Pieces::iterator piece) {
  const auto joins = [piece](const Piece& neighbour) {
    return neighbour.state == State::kFree &&
           neighbour.in_extent == piece->second.in_extent;
  };
  const auto next = std::next(piece);
  if (next != pieces_.end() && joins(next->second)) {
    piece->second.bytes += next->second.bytes;
    pieces_.erase(next);
  }
  if (piece == pieces_.begin()) return piece;
  const auto previous = std::prev(piece);
  if (!joins(previous->second)) return piece;
  previous->second.bytes += piece->second.bytes;
  pieces_.erase(piece);
  return previous;
}

bool NaiveArena::IsBesideExtent(Pieces::iterator piece) {
  const auto next = std::next(piece);
  if (next != pieces_.end() && next->second.in_extent) return true;
  return piece != pieces_.begin() && std::prev(piece)->second.in_extent;
}

void NaiveArena::MakeFree(Pieces::iterator piece) {
  piece->second.state = State::kFree;
  piece = Merge(piece);
  if (!piece->second.in_extent) return;
  if (piece->second.bytes < 2 * kExtentBytes && IsBesideExtent(piece)) return;
  piece->second.in_extent = false;
  Merge(piece);
}

int64_t NaiveArena::Free(int64_t offset) {
  const int64_t bytes = SizeOf(offset);
  MakeFree(pieces_.find(offset));
  return bytes;
}

int64_t NaiveArena::SizeOf(int64_t offset) const {
  const auto found = pieces_.find(offset);
  const bool in_use =
      found != pieces_.end() && found->second.state == State::kInUse;
  return in_use ? found->second.bytes : 0;
}

std::vector<NaiveArena::Range> NaiveArena::Blocks() const {
  std::vector<Range> blocks;
  for (const auto& [offset, piece] : pieces_) {
    if (piece.state == State::kInUse) blocks.push_back({offset, piece.bytes});
  }
  return blocks;
}

std::vector<NaiveArena::Range> NaiveArena::FreeRanges(int64_t min_bytes) const {
  std::vector<Range> ranges;
  for (const auto& [offset, piece] : pieces_) {
    if (piece.state != State::kFree || piece.bytes < min_bytes) continue;
    ranges.push_back({offset, piece.bytes});
  }
  std::stable_sort(
      ranges.begin(), ranges.end(),
      [](const Range& a, const Range& b) { return a.bytes < b.bytes; });
  return ranges;
}

void NaiveArena::Hold(int64_t offset) {
  pieces_.at(offset).state = State::kHeld;
}

void NaiveArena::Release(int64_t offset) { MakeFree(pieces_.find(offset)); }

void NaiveArena::ResetPeak() {
  const std::vector<Range> blocks = Blocks();
  peak_ = stats().in_use_bytes;
  high_water_ = blocks.empty() ? 0 : blocks.back().offset + blocks.back().bytes;
}

ArenaStats NaiveArena::stats() const {
  ArenaStats stats;
  for (const auto& [offset, piece] : pieces_) {
    if (piece.state == State::kInUse) stats.in_use_bytes += piece.bytes;
    if (piece.state != State::kFree) continue;
    stats.largest_free_bytes = std::max(stats.largest_free_bytes, piece.bytes);
  }
  stats.peak_bytes = peak_;
  stats.high_water_bytes = high_water_;
  stats.allocations = allocations_;
  return stats;
}

}  // namespace sn_tf
