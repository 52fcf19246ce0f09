// SPDX-License-Identifier: Apache-2.0
#include "cc/core/free_index.h"

namespace sn_tf {
namespace {

bool IsBefore(const Chunk& a, const Chunk& b) {
  return a.bytes != b.bytes ? a.bytes < b.bytes : a.offset < b.offset;
}

uint32_t PriorityOf(int64_t offset) {
  uint64_t x = static_cast<uint64_t>(offset);
  x *= 0x9e3779b97f4a7c15u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return static_cast<uint32_t>(x >> 32);
}

int FloorLog2(int64_t x) {
  return 63 - __builtin_clzll(static_cast<uint64_t>(x));
}

ChunkIndex First(const ChunkPool& pool, ChunkIndex root) {
  while (pool[root].left != kNoChunk) root = pool[root].left;
  return root;
}

ChunkIndex Last(const ChunkPool& pool, ChunkIndex root) {
  while (pool[root].right != kNoChunk) root = pool[root].right;
  return root;
}

void AppendInOrder(const ChunkPool& pool, ChunkIndex root, int64_t bytes,
                   std::vector<ChunkIndex>* out) {
  if (root == kNoChunk) return;
  if (pool[root].bytes >= bytes) {
    AppendInOrder(pool, pool[root].left, bytes, out);
    out->push_back(root);
  }
  AppendInOrder(pool, pool[root].right, bytes, out);
}

bool IsHeap(const ChunkPool& pool, ChunkIndex root) {
  for (const ChunkIndex child : {pool[root].left, pool[root].right}) {
    if (child == kNoChunk) continue;
    if (pool[child].priority > pool[root].priority) return false;
    if (!IsHeap(pool, child)) return false;
  }
  return true;
}

}  // namespace

FreeIndex::FreeIndex(int alignment_shift)
    : alignment_shift_(alignment_shift), roots_(kBins, kNoChunk) {}

int FreeIndex::BinOf(int64_t bytes) const {
  const int64_t units = bytes >> alignment_shift_;
  if (units < kExactUnits) return static_cast<int>(units);
  const int log = FloorLog2(units);
  const int step =
      static_cast<int>(units >> (log - kStepBits)) & ((1 << kStepBits) - 1);
  return static_cast<int>(kExactUnits) + ((log - kExactBits) << kStepBits) +
         step;
}

int FreeIndex::NextOccupied(int bin) const {
  if (bin >= kBins) return kBins;
  int word = bin / 64;
  const uint64_t here = occupied_[word] & (~uint64_t{0} << (bin % 64));
  if (here != 0) return word * 64 + __builtin_ctzll(here);
  if (word == 63) return kBins;
  const uint64_t later = summary_ & (~uint64_t{0} << (word + 1));
  if (later == 0) return kBins;
  word = __builtin_ctzll(later);
  return word * 64 + __builtin_ctzll(occupied_[word]);
}

void FreeIndex::Insert(ChunkPool& pool, ChunkIndex chunk) {
  Chunk& inserted = pool[chunk];
  inserted.priority = PriorityOf(inserted.offset);
  const int bin = BinOf(inserted.bytes);
  occupied_[bin / 64] |= uint64_t{1} << (bin % 64);
  summary_ |= uint64_t{1} << (bin / 64);

  ChunkIndex* link = &roots_[bin];
  while (*link != kNoChunk && pool[*link].priority >= inserted.priority) {
    Chunk& at = pool[*link];
    link = IsBefore(inserted, at) ? &at.left : &at.right;
  }
  // The chunk takes this place; what was below splits into its two sides.
  ChunkIndex rest = *link;
  *link = chunk;
  ChunkIndex* left = &inserted.left;
  ChunkIndex* right = &inserted.right;
  while (rest != kNoChunk) {
    Chunk& at = pool[rest];
    if (IsBefore(at, inserted)) {
      *left = rest;
      left = &at.right;
      rest = at.right;
    } else {
      *right = rest;
      right = &at.left;
      rest = at.left;
    }
  }
  *left = kNoChunk;
  *right = kNoChunk;
}

void FreeIndex::Erase(ChunkPool& pool, ChunkIndex chunk) {
  const Chunk& erased = pool[chunk];
  const int bin = BinOf(erased.bytes);
  ChunkIndex* link = &roots_[bin];
  while (*link != chunk) {
    Chunk& at = pool[*link];
    link = IsBefore(erased, at) ? &at.left : &at.right;
  }
  // The two sides, all of the left before all of the right, become one.
  ChunkIndex left = erased.left;
  ChunkIndex right = erased.right;
  while (left != kNoChunk && right != kNoChunk) {
    if (pool[left].priority >= pool[right].priority) {
      *link = left;
      link = &pool[left].right;
      left = *link;
    } else {
      *link = right;
      link = &pool[right].left;
      right = *link;
    }
  }
  *link = left != kNoChunk ? left : right;
  if (roots_[bin] == kNoChunk) {
    occupied_[bin / 64] &= ~(uint64_t{1} << (bin % 64));
    if (occupied_[bin / 64] == 0) summary_ &= ~(uint64_t{1} << (bin / 64));
  }
}

ChunkIndex FreeIndex::BestFit(const ChunkPool& pool, int64_t bytes) const {
  const int bin = BinOf(bytes);
  ChunkIndex best = kNoChunk;
  for (ChunkIndex at = roots_[bin]; at != kNoChunk;) {
    if (pool[at].bytes >= bytes) {
      best = at;
      at = pool[at].left;
    } else {
      at = pool[at].right;
    }
  }
  if (best != kNoChunk) return best;
  const int larger = NextOccupied(bin + 1);
  return larger == kBins ? kNoChunk : First(pool, roots_[larger]);
}

ChunkIndex FreeIndex::Largest(const ChunkPool& pool) const {
  if (summary_ == 0) return kNoChunk;
  const int word = 63 - __builtin_clzll(summary_);
  const int bin = word * 64 + 63 - __builtin_clzll(occupied_[word]);
  return Last(pool, roots_[bin]);
}

std::vector<ChunkIndex> FreeIndex::AtLeast(const ChunkPool& pool,
                                           int64_t bytes) const {
  std::vector<ChunkIndex> chunks;
  for (int bin = NextOccupied(BinOf(bytes)); bin != kBins;
       bin = NextOccupied(bin + 1)) {
    AppendInOrder(pool, roots_[bin], bytes, &chunks);
  }
  return chunks;
}

bool FreeIndex::IsValid(const ChunkPool& pool, size_t expected) const {
  size_t count = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    const bool marked = (occupied_[bin / 64] >> (bin % 64) & 1) != 0;
    if (marked != (roots_[bin] != kNoChunk)) return false;
    if (!marked) continue;
    if (!IsHeap(pool, roots_[bin])) return false;
    std::vector<ChunkIndex> chunks;
    AppendInOrder(pool, roots_[bin], 0, &chunks);
    count += chunks.size();
    for (size_t i = 0; i < chunks.size(); ++i) {
      const Chunk& chunk = pool[chunks[i]];
      if (chunk.state != Chunk::State::kFree) return false;
      if (BinOf(chunk.bytes) != bin) return false;
      if (i > 0 && !IsBefore(pool[chunks[i - 1]], chunk)) return false;
    }
  }
  for (int word = 0; word < kWords; ++word) {
    const bool marked = (summary_ >> word & 1) != 0;
    if (marked != (occupied_[word] != 0)) return false;
  }
  return count == expected;
}

}  // namespace sn_tf
