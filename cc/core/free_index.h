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
// Most bins hold few chunks, so a search is a few bit operations and steps.
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

  int BinOf(int64_t bytes) const;
  // The first bin from `bin` on that is not empty; kBins where none is.
  int NextOccupied(int bin) const;

  int alignment_shift_;
  uint64_t summary_ = 0;
  std::array<uint64_t, kWords> occupied_{};
  std::vector<ChunkIndex> roots_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_FREE_INDEX_H_
