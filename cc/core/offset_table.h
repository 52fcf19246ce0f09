// SPDX-License-Identifier: Apache-2.0
//
// Finds the chunk that starts at an offset: a hash table with linear probing.
#ifndef SN_TF_CC_CORE_OFFSET_TABLE_H_
#define SN_TF_CC_CORE_OFFSET_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/core/chunk.h"

namespace sn_tf {

class OffsetTable {
 public:
  OffsetTable() : slots_(size_t{1} << kInitialBits) {}

  // `offset` must not be in the table.
  void Insert(int64_t offset, ChunkIndex chunk);

  // kNoChunk where `offset` is not in the table.
  ChunkIndex Find(int64_t offset) const;

  // Removes `offset` and returns its chunk; kNoChunk where it is not there.
  ChunkIndex Erase(int64_t offset);

  size_t size() const { return size_; }

 private:
  static constexpr int kInitialBits = 8;

  struct Slot {
    int64_t offset = 0;
    ChunkIndex chunk = kNoChunk;  // kNoChunk: the slot is empty.
  };

  size_t mask() const { return slots_.size() - 1; }
  size_t HomeOf(int64_t offset) const;
  // Where `offset` is, or the empty slot that ends the search for it.
  size_t SlotOf(int64_t offset) const;
  void Grow();

  std::vector<Slot> slots_;  // A power of two of them, at most half filled.
  size_t size_ = 0;
  int hash_shift_ = 64 - kInitialBits;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_OFFSET_TABLE_H_
