// SPDX-License-Identifier: Apache-2.0
#include "cc/core/offset_table.h"

#include <utility>

namespace sn_tf {

void OffsetTable::CloseGap(const ChunkPool& pool, size_t gap) {
  for (size_t slot = (gap + 1) & mask(); slots_[slot] != kNoChunk;
       slot = (slot + 1) & mask()) {
    const size_t home = HomeOf(pool[slots_[slot]].offset);
    // No search may meet the gap before its slot.
    if (((slot - home) & mask()) < ((slot - gap) & mask())) continue;
    slots_[gap] = std::exchange(slots_[slot], kNoChunk);
    gap = slot;
  }
}

void OffsetTable::Grow(const ChunkPool& pool) {
  const std::vector<ChunkIndex> old = std::move(slots_);
  slots_.assign(old.size() * 2, kNoChunk);
  --hash_shift_;
  for (const ChunkIndex chunk : old) {
    if (chunk == kNoChunk) continue;
    slots_[SlotOf(pool, pool[chunk].offset)] = chunk;
  }
}

}  // namespace sn_tf
