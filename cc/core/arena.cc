// SPDX-License-Identifier: Apache-2.0
#include "cc/core/arena.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace sn_tf {
namespace {

// Tried on recorded training: from half to twice as much hardly matters.
constexpr int64_t kSmallBytes = 32 * 1024;
constexpr int64_t kExtentBytes = 256 * 1024;
// A free part of extents becomes a large chunk from this size on, well above
// that of an extent just added.
constexpr int64_t kReturnedBytes = 2 * kExtentBytes;
// An arena of fewer has none.
constexpr int64_t kLeastExtents = 256;

[[noreturn]] void Die(const char* call, int64_t offset) {
  std::fprintf(
      stderr,
      "sn_tf: Arena::%s(%" PRId64
      "): no such chunk starts at this offset. It was freed twice, or "
      "never came from this arena; find the caller in the backtrace.\n",
      call, offset);
  std::abort();
}

}  // namespace

double ArenaStats::fragmentation() const {
  if (peak_bytes == 0) return 1;
  return static_cast<double>(high_water_bytes) /
         static_cast<double>(peak_bytes);
}

Arena::Arena(int64_t capacity_bytes, int64_t alignment_bytes)
    : capacity_bytes_(capacity_bytes & -alignment_bytes),
      alignment_bytes_(alignment_bytes),
      small_bytes_(
          capacity_bytes_ < kLeastExtents * kExtentBytes ? 0 : kSmallBytes),
      large_(__builtin_ctzll(static_cast<uint64_t>(alignment_bytes))),
      small_(__builtin_ctzll(static_cast<uint64_t>(alignment_bytes))) {
  if (capacity_bytes_ <= 0) return;
  last_ = pool_.Acquire();
  pool_[last_].bytes = capacity_bytes_;
  large_.Insert(pool_, last_);
}

int64_t Arena::RoundUp(int64_t bytes) const {
  return std::max(alignment_bytes_,
                  (bytes + (alignment_bytes_ - 1)) & -alignment_bytes_);
}

int64_t Arena::Allocate(int64_t bytes) {
  return Allocate(bytes, alignment_bytes_);
}

int64_t Arena::Allocate(int64_t bytes, int64_t alignment_bytes) {
  if (bytes < 0 || bytes > capacity_bytes_) return kNoOffset;
  const int64_t rounded = RoundUp(bytes);
  if (rounded >= kDirectBytes) {
    alignment_bytes = std::max(alignment_bytes, kDirectAlignmentBytes);
  }
  Fit fit;
  if (rounded <= small_bytes_ && alignment_bytes <= small_bytes_) {
    fit = FindIn(small_, rounded, alignment_bytes);
    if (fit.chunk == kNoChunk && AddExtent()) {
      fit = FindIn(small_, rounded, alignment_bytes);
    }
  }
  if (fit.chunk == kNoChunk) fit = FindIn(large_, rounded, alignment_bytes);
  if (fit.chunk == kNoChunk) fit = FindIn(small_, rounded, alignment_bytes);
  return fit.chunk == kNoChunk ? kNoOffset : Place(fit, rounded);
}

Arena::Fit Arena::FindIn(const FreeIndex& index, int64_t bytes,
                         int64_t alignment_bytes) const {
  ChunkIndex chunk = index.BestFit(pool_, bytes);
  if (chunk == kNoChunk) return {};
  // The best fit may happen to be aligned; a chunk with room for any padding
  // is aligned somewhere.
  Fit fit = FitIn(chunk, bytes, alignment_bytes);
  if (fit.chunk == kNoChunk) {
    const int64_t most_padding = alignment_bytes - alignment_bytes_;
    if (most_padding > capacity_bytes_ - bytes) return {};
    chunk = index.BestFit(pool_, bytes + most_padding);
    if (chunk == kNoChunk) return {};
    fit = FitIn(chunk, bytes, alignment_bytes);
  }
  return fit;
}

Arena::Fit Arena::FitIn(ChunkIndex chunk, int64_t bytes,
                        int64_t alignment_bytes) const {
  const Chunk& free = pool_[chunk];
  const int64_t most_padding = free.bytes - bytes;
  const bool high = bytes >= kDirectBytes && chunk != last_;
  const int64_t beyond = (high ? free.offset + most_padding : -free.offset) &
                         (alignment_bytes - 1);
  const int64_t padding = high ? most_padding - beyond : beyond;
  if (padding < 0 || padding > most_padding) return {};
  return {chunk, padding};
}

bool Arena::AddExtent() {
  ChunkIndex chunk = large_.BestFit(pool_, kExtentBytes);
  if (chunk == kNoChunk) return false;
  chunk = TakeLowEnd(chunk, kExtentBytes);
  pool_[chunk].in_extent = true;
  AddToIndex(chunk);
  return true;
}

int64_t Arena::Place(Fit fit, int64_t bytes) {
  ChunkIndex chunk = fit.chunk;
  if (fit.padding > pool_[chunk].bytes - fit.padding - bytes) {
    chunk = TakeHighEnd(fit, bytes);
  } else {
    if (fit.padding > 0) {
      FreeIndex& index = IndexOf(chunk);
      const ChunkIndex padding = InsertBefore(chunk, fit.padding);
      index.Resize(pool_, chunk, pool_[chunk].offset + fit.padding,
                   pool_[chunk].bytes - fit.padding);
      index.Insert(pool_, padding);
    }
    chunk = TakeLowEnd(chunk, bytes);
  }
  Chunk& placed = pool_[chunk];
  placed.state = Chunk::State::kInUse;
  in_use_.Insert(pool_, chunk);
  in_use_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, in_use_bytes_);
  high_water_bytes_ = std::max(high_water_bytes_, placed.end());
  ++allocations_;
  return placed.offset;
}

ChunkIndex Arena::TakeLowEnd(ChunkIndex chunk, int64_t bytes) {
  FreeIndex& index = IndexOf(chunk);
  if (pool_[chunk].bytes == bytes) {
    index.Erase(pool_, chunk);
    return chunk;
  }
  const ChunkIndex low = InsertBefore(chunk, bytes);
  const Chunk& rest = pool_[chunk];
  index.Resize(pool_, chunk, rest.offset + bytes, rest.bytes - bytes);
  return low;
}

ChunkIndex Arena::TakeHighEnd(Fit fit, int64_t bytes) {
  const ChunkIndex low = fit.chunk;
  FreeIndex& index = IndexOf(low);
  const int64_t above = pool_[low].bytes - fit.padding - bytes;
  const ChunkIndex taken = InsertAfter(low, bytes + above);
  index.Resize(pool_, low, pool_[low].offset, fit.padding);
  if (above > 0) {
    const ChunkIndex rest = InsertAfter(taken, above);
    pool_[taken].bytes = bytes;
    index.Insert(pool_, rest);
  }
  return taken;
}

ChunkIndex Arena::InsertAfter(ChunkIndex chunk, int64_t bytes) {
  const ChunkIndex inserted = pool_.Acquire();
  Chunk& first = pool_[chunk];
  Chunk& second = pool_[inserted];
  second.offset = first.end() - bytes;
  second.bytes = bytes;
  second.previous = chunk;
  second.next = first.next;
  second.in_extent = first.in_extent;
  pool_[second.next].previous = inserted;
  first.next = inserted;
  if (chunk == last_) last_ = inserted;
  return inserted;
}

ChunkIndex Arena::InsertBefore(ChunkIndex chunk, int64_t bytes) {
  const ChunkIndex inserted = pool_.Acquire();
  Chunk& first = pool_[inserted];
  Chunk& second = pool_[chunk];
  first.offset = second.offset;
  first.bytes = bytes;
  first.previous = second.previous;
  first.next = chunk;
  first.in_extent = second.in_extent;
  // kNoChunk has neighbours that nobody asks for.
  pool_[first.previous].next = inserted;
  second.previous = inserted;
  return inserted;
}

void Arena::Unlink(ChunkIndex chunk) {
  const Chunk& unlinked = pool_[chunk];
  pool_[unlinked.previous].next = unlinked.next;
  pool_[unlinked.next].previous = unlinked.previous;
  if (chunk == last_) last_ = unlinked.previous;
  pool_.Recycle(chunk);
}

void Arena::MakeFree(ChunkIndex chunk) {
  pool_[chunk].state = Chunk::State::kFree;
  chunk = AddToIndex(chunk);
  if (!pool_[chunk].in_extent || !IsLarge(pool_[chunk])) return;
  small_.Erase(pool_, chunk);
  pool_[chunk].in_extent = false;
  AddToIndex(chunk);
}

bool Arena::IsLarge(const Chunk& chunk) const {
  if (chunk.bytes >= kReturnedBytes) return true;
  // What is left of an extent when nothing else in it is in use.
  return !pool_[chunk.previous].in_extent && !pool_[chunk.next].in_extent;
}

ChunkIndex Arena::AddToIndex(ChunkIndex chunk) {
  const Chunk added = pool_[chunk];
  const auto merges = [this, &added](ChunkIndex neighbour) {
    return neighbour != kNoChunk &&
           pool_[neighbour].state == Chunk::State::kFree &&
           pool_[neighbour].in_extent == added.in_extent;
  };
  FreeIndex& index = IndexOf(chunk);
  const bool below = merges(added.previous);
  const bool above = merges(added.next);
  if (!below && !above) {
    index.Insert(pool_, chunk);
    return chunk;
  }
  Unlink(chunk);
  if (!below) {
    index.Resize(pool_, added.next, added.offset,
                 added.bytes + pool_[added.next].bytes);
    return added.next;
  }
  int64_t bytes = pool_[added.previous].bytes + added.bytes;
  if (above) {
    bytes += pool_[added.next].bytes;
    index.Erase(pool_, added.next);
    Unlink(added.next);
  }
  index.Resize(pool_, added.previous, pool_[added.previous].offset, bytes);
  return added.previous;
}

int64_t Arena::Free(int64_t offset) {
  const ChunkIndex chunk = in_use_.Erase(pool_, offset);
  if (chunk == kNoChunk) Die("Free", offset);
  const int64_t bytes = pool_[chunk].bytes;
  in_use_bytes_ -= bytes;
  MakeFree(chunk);
  return bytes;
}

int64_t Arena::SizeOf(int64_t offset) const {
  const ChunkIndex chunk = in_use_.Find(pool_, offset);
  return chunk == kNoChunk ? 0 : pool_[chunk].bytes;
}

std::vector<Arena::Block> Arena::Blocks() const {
  std::vector<Block> blocks;
  for (ChunkIndex at = last_; at != kNoChunk; at = pool_[at].previous) {
    const Chunk& chunk = pool_[at];
    if (chunk.state != Chunk::State::kInUse) continue;
    blocks.push_back({chunk.offset, chunk.bytes});
  }
  std::reverse(blocks.begin(), blocks.end());
  return blocks;
}

std::vector<Arena::FreeRange> Arena::FreeRanges(int64_t min_bytes) const {
  std::vector<FreeRange> ranges;
  if (min_bytes > capacity_bytes_) return ranges;
  for (const FreeIndex* index : {&small_, &large_}) {
    for (const ChunkIndex chunk : index->AtLeast(pool_, RoundUp(min_bytes))) {
      ranges.push_back({pool_[chunk].offset, pool_[chunk].bytes, chunk});
    }
  }
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.offset < b.offset;
  });
  return ranges;
}

void Arena::Hold(const FreeRange& range) {
  Chunk& chunk = pool_[range.chunk];
  if (chunk.state != Chunk::State::kFree || chunk.offset != range.offset) {
    Die("Hold", range.offset);
  }
  IndexOf(range.chunk).Erase(pool_, range.chunk);
  chunk.state = Chunk::State::kHeld;
}

void Arena::Release(const FreeRange& range) {
  const Chunk& chunk = pool_[range.chunk];
  if (chunk.state != Chunk::State::kHeld || chunk.offset != range.offset) {
    Die("Release", range.offset);
  }
  MakeFree(range.chunk);
}

ArenaStats Arena::stats() const {
  ArenaStats stats;
  stats.in_use_bytes = in_use_bytes_;
  stats.peak_bytes = peak_bytes_;
  stats.high_water_bytes = high_water_bytes_;
  for (const FreeIndex* index : {&small_, &large_}) {
    const ChunkIndex largest = index->Largest(pool_);
    if (largest == kNoChunk) continue;
    stats.largest_free_bytes =
        std::max(stats.largest_free_bytes, pool_[largest].bytes);
  }
  stats.allocations = allocations_;
  return stats;
}

void Arena::ResetPeak() {
  peak_bytes_ = in_use_bytes_;
  ChunkIndex chunk = last_;
  while (chunk != kNoChunk && pool_[chunk].state != Chunk::State::kInUse) {
    chunk = pool_[chunk].previous;
  }
  high_water_bytes_ = chunk == kNoChunk ? 0 : pool_[chunk].end();
}

bool Arena::IsValid() const {
  // Walks from the last chunk down, so that `previous` and `next` are both
  // followed.
  int64_t end = std::max<int64_t>(capacity_bytes_, 0);
  int64_t in_use_bytes = 0;
  size_t chunks = 0;
  size_t small = 0;
  size_t large = 0;
  size_t in_use = 0;
  ChunkIndex next = kNoChunk;
  for (ChunkIndex at = last_; at != kNoChunk; at = pool_[at].previous) {
    const Chunk& chunk = pool_[at];
    if (chunk.next != next || chunk.end() != end) return false;
    if (chunk.bytes <= 0 || chunk.bytes % alignment_bytes_ != 0) return false;
    if (chunk.state == Chunk::State::kFree) {
      if (next != kNoChunk && pool_[next].state == Chunk::State::kFree &&
          pool_[next].in_extent == chunk.in_extent) {
        return false;
      }
      if (chunk.in_extent && IsLarge(chunk)) return false;
      ++(chunk.in_extent ? small : large);
    } else if (chunk.state == Chunk::State::kInUse) {
      ++in_use;
      in_use_bytes += chunk.bytes;
      if (in_use_.Find(pool_, chunk.offset) != at) return false;
    }
    ++chunks;
    end = chunk.offset;
    next = at;
  }
  return end == 0 && chunks == pool_.size() && in_use == in_use_.size() &&
         in_use_bytes == in_use_bytes_ && peak_bytes_ >= in_use_bytes_ &&
         high_water_bytes_ >= peak_bytes_ && large_.IsValid(pool_, large) &&
         small_.IsValid(pool_, small);
}

}  // namespace sn_tf
