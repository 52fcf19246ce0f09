// SPDX-License-Identifier: Apache-2.0
//
// Finds the chunk that starts at an offset: a hash table with linear probing.
// A slot is a chunk's index and no more, the offset stands in the chunk: so the
// table is small enough to stay in the processor's cache. `Pool` is what the
// chunks are in, ChunkPool or another: pool[chunk].offset.
#ifndef SN_TF_CC_CORE_OFFSET_TABLE_H_
#define SN_TF_CC_CORE_OFFSET_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cc/core/chunk.h"

namespace sn_tf {

template <typename Pool>
class OffsetTable {
 public:
  OffsetTable() : slots_(size_t{1} << kInitialBits, kNoChunk) {}

  // The offset of `chunk` must not be in the table, and must not change while
  // it is.
  void Insert(const Pool& pool, ChunkIndex chunk) {
    if ((size_ + 1) * kSlotsPerChunk > slots_.size()) Grow(pool);
    size_t slot = HomeOf(pool[chunk].offset);
    while (slots_[slot] != kNoChunk) slot = (slot + 1) & mask();
    slots_[slot] = chunk;
    ++size_;
  }

  // kNoChunk where `offset` is not in the table.
  ChunkIndex Find(const Pool& pool, int64_t offset) const {
    return slots_[SlotOf(pool, offset)];
  }

  // Removes `offset` and returns its chunk; kNoChunk where it is not there.
  ChunkIndex Erase(const Pool& pool, int64_t offset) {
    const size_t slot = SlotOf(pool, offset);
    const ChunkIndex erased = slots_[slot];
    if (erased == kNoChunk) return kNoChunk;
    slots_[slot] = kNoChunk;
    --size_;
    if (slots_[(slot + 1) & mask()] != kNoChunk) CloseGap(pool, slot);
    return erased;
  }

  size_t size() const { return size_; }

 private:
  static constexpr int kInitialBits = 8;
  // At least. Most searches then end where they begin.
  static constexpr size_t kSlotsPerChunk = 4;

  size_t mask() const { return slots_.size() - 1; }
  size_t HomeOf(int64_t offset) const {
    return static_cast<uint64_t>(offset) * 0x9e3779b97f4a7c15u >> hash_shift_;
  }
  // Where `offset` is, or the empty slot that ends the search for it.
  size_t SlotOf(const Pool& pool, int64_t offset) const {
    size_t slot = HomeOf(offset);
    while (slots_[slot] != kNoChunk && pool[slots_[slot]].offset != offset) {
      slot = (slot + 1) & mask();
    }
    return slot;
  }
  // Moves up what probed past the slot `gap`, now empty.
  void CloseGap(const Pool& pool, size_t gap);
  void Grow(const Pool& pool);

  std::vector<ChunkIndex> slots_;  // A power of two; kNoChunk: empty.
  size_t size_ = 0;
  int hash_shift_ = 64 - kInitialBits;
};

template <typename Pool>
void OffsetTable<Pool>::CloseGap(const Pool& pool, size_t gap) {
  for (size_t slot = (gap + 1) & mask(); slots_[slot] != kNoChunk;
       slot = (slot + 1) & mask()) {
    const size_t home = HomeOf(pool[slots_[slot]].offset);
    // No search may meet the gap before its slot.
    if (((slot - home) & mask()) < ((slot - gap) & mask())) continue;
    slots_[gap] = std::exchange(slots_[slot], kNoChunk);
    gap = slot;
  }
}

template <typename Pool>
void OffsetTable<Pool>::Grow(const Pool& pool) {
  const std::vector<ChunkIndex> old = std::move(slots_);
  slots_.assign(old.size() * 2, kNoChunk);
  --hash_shift_;
  for (const ChunkIndex chunk : old) {
    if (chunk == kNoChunk) continue;
    slots_[SlotOf(pool, pool[chunk].offset)] = chunk;
  }
}

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_OFFSET_TABLE_H_
