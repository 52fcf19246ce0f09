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
    if (PriorityOf(pool[child].offset) > PriorityOf(pool[root].offset))
      return false;
    if (!IsHeap(pool, child)) return false;
  }
  return true;
}

}  // namespace

FreeIndex::FreeIndex(int alignment_shift)
    : alignment_shift_(alignment_shift), roots_(kBins, kNoChunk) {}

void FreeIndex::InsertInTree(ChunkPool& pool, ChunkIndex* root,
                             ChunkIndex chunk) {
  Chunk& inserted = pool[chunk];
  const uint32_t priority = PriorityOf(inserted.offset);
  ChunkIndex* link = root;
  while (*link != kNoChunk && PriorityOf(pool[*link].offset) >= priority) {
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

void FreeIndex::EraseFromTree(ChunkPool& pool, ChunkIndex* root,
                              ChunkIndex chunk) {
  const Chunk& erased = pool[chunk];
  ChunkIndex* link = root;
  while (*link != chunk) {
    Chunk& at = pool[*link];
    link = IsBefore(erased, at) ? &at.left : &at.right;
  }
  // The two sides, all of the left before all of the right, become one.
  ChunkIndex left = erased.left;
  ChunkIndex right = erased.right;
  while (left != kNoChunk && right != kNoChunk) {
    if (PriorityOf(pool[left].offset) >= PriorityOf(pool[right].offset)) {
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
