// SPDX-License-Identifier: Apache-2.0
//
// The chunks that an arena consists of, and the pool they live in. Chunks are
// named by index, so that the structures that link them are plain data: they
// copy, and they cost no allocation each.
#ifndef SN_TF_CC_CORE_CHUNK_H_
#define SN_TF_CC_CORE_CHUNK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sn_tf {

using ChunkIndex = uint32_t;
inline constexpr ChunkIndex kNoChunk = 0;

struct Chunk {
  // kHeld: out of the free index, yet not in use; see Arena::Hold.
  enum class State : uint8_t { kFree, kInUse, kHeld };

  int64_t offset = 0;
  int64_t bytes = 0;
  // Neighbours by address.
  ChunkIndex previous = kNoChunk;
  ChunkIndex next = kNoChunk;
  // Children in the free index's tree; meaningful while free.
  ChunkIndex left = kNoChunk;
  ChunkIndex right = kNoChunk;
  State state = State::kFree;
  bool in_extent = false;  // Part of an extent; see Arena.

  int64_t end() const { return offset + bytes; }
};

class ChunkPool {
 public:
  ChunkPool() : chunks_(1) {}  // Index 0 is kNoChunk.

  Chunk& operator[](ChunkIndex index) { return chunks_[index]; }
  const Chunk& operator[](ChunkIndex index) const { return chunks_[index]; }

  // A chunk with default fields. Invalidates references, not indices.
  ChunkIndex Acquire() {
    if (recycled_.empty()) {
      chunks_.emplace_back();
      return static_cast<ChunkIndex>(chunks_.size() - 1);
    }
    const ChunkIndex index = recycled_.back();
    recycled_.pop_back();
    chunks_[index] = Chunk();
    return index;
  }

  void Recycle(ChunkIndex index) { recycled_.push_back(index); }

  // Chunks acquired and not recycled.
  size_t size() const { return chunks_.size() - 1 - recycled_.size(); }

 private:
  std::vector<Chunk> chunks_;
  std::vector<ChunkIndex> recycled_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_CHUNK_H_
