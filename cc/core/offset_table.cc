// SPDX-License-Identifier: Apache-2.0
#include "cc/core/offset_table.h"

#include <utility>

namespace sn_tf {

size_t OffsetTable::HomeOf(int64_t offset) const {
  return static_cast<uint64_t>(offset) * 0x9e3779b97f4a7c15u >> hash_shift_;
}

size_t OffsetTable::SlotOf(int64_t offset) const {
  size_t slot = HomeOf(offset);
  while (slots_[slot].chunk != kNoChunk && slots_[slot].offset != offset) {
    slot = (slot + 1) & mask();
  }
  return slot;
}

void OffsetTable::Insert(int64_t offset, ChunkIndex chunk) {
  if ((size_ + 1) * 2 > slots_.size()) Grow();
  slots_[SlotOf(offset)] = {offset, chunk};
  ++size_;
}

ChunkIndex OffsetTable::Find(int64_t offset) const {
  return slots_[SlotOf(offset)].chunk;
}

ChunkIndex OffsetTable::Erase(int64_t offset) {
  size_t hole = SlotOf(offset);
  const ChunkIndex erased = slots_[hole].chunk;
  if (erased == kNoChunk) return kNoChunk;
  --size_;
  // No search may meet a gap before its slot: move up what probed past it.
  for (size_t slot = (hole + 1) & mask(); slots_[slot].chunk != kNoChunk;
       slot = (slot + 1) & mask()) {
    const size_t home = HomeOf(slots_[slot].offset);
    if (((slot - home) & mask()) >= ((slot - hole) & mask())) {
      slots_[hole] = slots_[slot];
      hole = slot;
    }
  }
  slots_[hole].chunk = kNoChunk;
  return erased;
}

void OffsetTable::Grow() {
  const std::vector<Slot> old = std::move(slots_);
  slots_.assign(old.size() * 2, Slot());
  --hash_shift_;
  for (const Slot& slot : old) {
    if (slot.chunk != kNoChunk) slots_[SlotOf(slot.offset)] = slot;
  }
}

}  // namespace sn_tf
