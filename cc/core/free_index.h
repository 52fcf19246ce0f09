// SPDX-License-Identifier: Apache-2.0
//
// The free chunks of an arena, ordered by (size, offset).
//
// Model:
// - Each chunk belongs to one bin by its size in alignment units: one bin per
//   size below kExactUnits, eight bins per doubling above.
// - A bin is a treap over the chunks themselves, whose priorities are a hash of
//   the offset. Its shape follows from its contents, not from their history,
//   so equal arenas behave equally, and depth stays logarithmic.
// - A two-level bitmap says which bins are not empty.
// Most bins hold few chunks, so a search is a few bit operations and steps, and
// a chunk that changes its size a little is often alone in its bin: it stays.
#ifndef SN_TF_CC_CORE_FREE_INDEX_H_
#define SN_TF_CC_CORE_FREE_INDEX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/core/chunk.h"

namespace sn_tf {

class FreeIndex {
 public:
  explicit FreeIndex(int alignment_shift);

  void Insert(ChunkPool& pool, ChunkIndex chunk);
  void Erase(ChunkPool& pool, ChunkIndex chunk);

  // Gives `chunk`, which is in the index, another offset and size.
  void Resize(ChunkPool& pool, ChunkIndex chunk, int64_t offset, int64_t bytes);

  // The smallest chunk of at least `bytes`, the lowest of that size; kNoChunk
  // where none is large enough.
  ChunkIndex BestFit(const ChunkPool& pool, int64_t bytes) const;

  ChunkIndex Largest(const ChunkPool& pool) const;

  // Every chunk of at least `bytes`, smallest first.
  std::vector<ChunkIndex> AtLeast(const ChunkPool& pool, int64_t bytes) const;

  // Checks order, heap property, bins and bitmaps, and that the index holds
  // `expected` chunks.
  bool IsValid(const ChunkPool& pool, size_t expected) const;

 private:
  static constexpr int kExactBits = 10;
  static constexpr int64_t kExactUnits = int64_t{1} << kExactBits;
  static constexpr int kStepBits = 3;
  static constexpr int kBins = kExactUnits + ((63 - kExactBits) << kStepBits);
  static constexpr int kWords = (kBins + 63) / 64;
  static_assert(kWords <= 64, "one summary word covers all bins");

  int BinOf(int64_t bytes) const {
    const int64_t units = bytes >> alignment_shift_;
    if (units < kExactUnits) return static_cast<int>(units);
    const int log = 63 - __builtin_clzll(static_cast<uint64_t>(units));
    const int step =
        static_cast<int>(units >> (log - kStepBits)) & ((1 << kStepBits) - 1);
    return static_cast<int>(kExactUnits) + ((log - kExactBits) << kStepBits) +
           step;
  }
  // The first bin from `bin` on that is not empty; kBins where none is.
  int NextOccupied(int bin) const;
  // The two parts of Insert and Erase that concern the bin's tree.
  static void InsertInTree(ChunkPool& pool, ChunkIndex* root, ChunkIndex chunk);
  static void EraseFromTree(ChunkPool& pool, ChunkIndex* root,
                            ChunkIndex chunk);

  int alignment_shift_;
  uint64_t summary_ = 0;
  std::array<uint64_t, kWords> occupied_{};
  std::vector<ChunkIndex> roots_;
};

inline int FreeIndex::NextOccupied(int bin) const {
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

inline void FreeIndex::Insert(ChunkPool& pool, ChunkIndex chunk) {
  const int bin = BinOf(pool[chunk].bytes);
  if (roots_[bin] != kNoChunk) {
    InsertInTree(pool, &roots_[bin], chunk);
    return;
  }
  pool[chunk].left = kNoChunk;
  pool[chunk].right = kNoChunk;
  roots_[bin] = chunk;
  occupied_[bin / 64] |= uint64_t{1} << (bin % 64);
  summary_ |= uint64_t{1} << (bin / 64);
}

inline void FreeIndex::Erase(ChunkPool& pool, ChunkIndex chunk) {
  const Chunk& erased = pool[chunk];
  const int bin = BinOf(erased.bytes);
  if (roots_[bin] != chunk || (erased.left | erased.right) != kNoChunk) {
    EraseFromTree(pool, &roots_[bin], chunk);
    return;
  }
  roots_[bin] = kNoChunk;
  occupied_[bin / 64] &= ~(uint64_t{1} << (bin % 64));
  if (occupied_[bin / 64] == 0) summary_ &= ~(uint64_t{1} << (bin / 64));
}

inline void FreeIndex::Resize(ChunkPool& pool, ChunkIndex chunk, int64_t offset,
                              int64_t bytes) {
  Chunk& resized = pool[chunk];
  const int bin = BinOf(resized.bytes);
  const bool stays = BinOf(bytes) == bin && roots_[bin] == chunk &&
                     (resized.left | resized.right) == kNoChunk;
  if (!stays) Erase(pool, chunk);
  resized.offset = offset;
  resized.bytes = bytes;
  if (!stays) Insert(pool, chunk);
}

inline ChunkIndex FreeIndex::BestFit(const ChunkPool& pool,
                                     int64_t bytes) const {
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
  if (larger == kBins) return kNoChunk;
  ChunkIndex first = roots_[larger];
  while (pool[first].left != kNoChunk) first = pool[first].left;
  return first;
}

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_FREE_INDEX_H_
