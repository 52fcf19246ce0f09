// SPDX-License-Identifier: Apache-2.0
#include "cc/core/arena.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace sn_tf {
namespace {

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
      free_(__builtin_ctzll(static_cast<uint64_t>(alignment_bytes))) {
  if (capacity_bytes_ <= 0) return;
  last_ = pool_.Acquire();
  pool_[last_].bytes = capacity_bytes_;
  free_.Insert(pool_, last_);
}

int64_t Arena::RoundUp(int64_t bytes) const {
  return std::max(alignment_bytes_,
                  (bytes + (alignment_bytes_ - 1)) & -alignment_bytes_);
}

int64_t Arena::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > capacity_bytes_) return kNoOffset;
  const int64_t rounded = RoundUp(bytes);
  const ChunkIndex chunk = free_.BestFit(pool_, rounded);
  if (chunk == kNoChunk) return kNoOffset;
  return Place(chunk, rounded, 0);
}

int64_t Arena::Allocate(int64_t bytes, int64_t alignment_bytes) {
  if (alignment_bytes <= alignment_bytes_) return Allocate(bytes);
  if (bytes < 0 || bytes > capacity_bytes_) return kNoOffset;
  const int64_t rounded = RoundUp(bytes);
  // The best fit may happen to be aligned; a chunk with room for any padding
  // is aligned somewhere.
  ChunkIndex chunk = free_.BestFit(pool_, rounded);
  if (chunk == kNoChunk) return kNoOffset;
  int64_t padding = -pool_[chunk].offset & (alignment_bytes - 1);
  if (padding > pool_[chunk].bytes - rounded) {
    const int64_t most_padding = alignment_bytes - alignment_bytes_;
    if (most_padding > capacity_bytes_ - rounded) return kNoOffset;
    chunk = free_.BestFit(pool_, rounded + most_padding);
    if (chunk == kNoChunk) return kNoOffset;
    padding = -pool_[chunk].offset & (alignment_bytes - 1);
  }
  return Place(chunk, rounded, padding);
}

int64_t Arena::Place(ChunkIndex chunk, int64_t bytes, int64_t padding) {
  free_.Erase(pool_, chunk);
  if (padding > 0) {
    const ChunkIndex aligned = Split(chunk, padding);
    free_.Insert(pool_, chunk);
    chunk = aligned;
  }
  if (pool_[chunk].bytes > bytes) {
    const ChunkIndex rest = Split(chunk, bytes);
    free_.Insert(pool_, rest);
  }
  Chunk& placed = pool_[chunk];
  placed.state = Chunk::State::kInUse;
  in_use_.Insert(placed.offset, chunk);
  in_use_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, in_use_bytes_);
  high_water_bytes_ = std::max(high_water_bytes_, placed.end());
  ++allocations_;
  return placed.offset;
}

ChunkIndex Arena::Split(ChunkIndex chunk, int64_t bytes) {
  const ChunkIndex rest = pool_.Acquire();
  Chunk& first = pool_[chunk];
  Chunk& second = pool_[rest];
  second.offset = first.offset + bytes;
  second.bytes = first.bytes - bytes;
  second.previous = chunk;
  second.next = first.next;
  if (second.next != kNoChunk) {
    pool_[second.next].previous = rest;
  } else {
    last_ = rest;
  }
  first.bytes = bytes;
  first.next = rest;
  return rest;
}

void Arena::Merge(ChunkIndex chunk, ChunkIndex next) {
  Chunk& first = pool_[chunk];
  const Chunk& second = pool_[next];
  first.bytes += second.bytes;
  first.next = second.next;
  if (first.next != kNoChunk) {
    pool_[first.next].previous = chunk;
  } else {
    last_ = chunk;
  }
  pool_.Recycle(next);
}

void Arena::MakeFree(ChunkIndex chunk) {
  const auto is_free = [this](ChunkIndex neighbour) {
    return neighbour != kNoChunk &&
           pool_[neighbour].state == Chunk::State::kFree;
  };
  pool_[chunk].state = Chunk::State::kFree;
  if (const ChunkIndex next = pool_[chunk].next; is_free(next)) {
    free_.Erase(pool_, next);
    Merge(chunk, next);
  }
  if (const ChunkIndex previous = pool_[chunk].previous; is_free(previous)) {
    free_.Erase(pool_, previous);
    Merge(previous, chunk);
    chunk = previous;
  }
  free_.Insert(pool_, chunk);
}

int64_t Arena::Free(int64_t offset) {
  const ChunkIndex chunk = in_use_.Erase(offset);
  if (chunk == kNoChunk) Die("Free", offset);
  const int64_t bytes = pool_[chunk].bytes;
  in_use_bytes_ -= bytes;
  MakeFree(chunk);
  return bytes;
}

int64_t Arena::SizeOf(int64_t offset) const {
  const ChunkIndex chunk = in_use_.Find(offset);
  return chunk == kNoChunk ? 0 : pool_[chunk].bytes;
}

std::vector<Arena::FreeRange> Arena::FreeRanges(int64_t min_bytes) const {
  std::vector<FreeRange> ranges;
  if (min_bytes > capacity_bytes_) return ranges;
  for (const ChunkIndex chunk : free_.AtLeast(pool_, RoundUp(min_bytes))) {
    ranges.push_back({pool_[chunk].offset, pool_[chunk].bytes, chunk});
  }
  return ranges;
}

void Arena::Hold(const FreeRange& range) {
  Chunk& chunk = pool_[range.chunk];
  if (chunk.state != Chunk::State::kFree || chunk.offset != range.offset) {
    Die("Hold", range.offset);
  }
  free_.Erase(pool_, range.chunk);
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
  const ChunkIndex largest = free_.Largest(pool_);
  stats.largest_free_bytes = largest == kNoChunk ? 0 : pool_[largest].bytes;
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
  size_t free = 0;
  size_t in_use = 0;
  ChunkIndex next = kNoChunk;
  for (ChunkIndex at = last_; at != kNoChunk; at = pool_[at].previous) {
    const Chunk& chunk = pool_[at];
    if (chunk.next != next || chunk.end() != end) return false;
    if (chunk.bytes <= 0 || chunk.bytes % alignment_bytes_ != 0) return false;
    if (chunk.state == Chunk::State::kFree) {
      ++free;
      if (next != kNoChunk && pool_[next].state == Chunk::State::kFree) {
        return false;
      }
    } else if (chunk.state == Chunk::State::kInUse) {
      ++in_use;
      in_use_bytes += chunk.bytes;
      if (in_use_.Find(chunk.offset) != at) return false;
    }
    ++chunks;
    end = chunk.offset;
    next = at;
  }
  return end == 0 && chunks == pool_.size() && in_use == in_use_.size() &&
         in_use_bytes == in_use_bytes_ && peak_bytes_ >= in_use_bytes_ &&
         high_water_bytes_ >= peak_bytes_ && free_.IsValid(pool_, free);
}

}  // namespace sn_tf
