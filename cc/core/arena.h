// SPDX-License-Identifier: Apache-2.0
//
// Best-fit allocation with coalescing over a range of offsets. It touches no
// memory, so the runtime allocator, the tiers and the planner's simulation
// share it. Not thread-safe. Copies are independent.
//
// Model:
// - Chunks cover [0, capacity) without gap or overlap, linked by address.
// - A chunk is in use, free, or held. Adjacent free chunks are always merged.
// - Free chunks are in a free index, chunks in use in the offset table.
// - Allocation takes the smallest free chunk that fits, and the lowest of that
//   size; so offsets follow from the calls alone. Blocks for direct transfers
//   take its high end, all others its low end: what is left of a hole then lies
//   beside its small blocks, not between those and large ones. The last chunk
//   gives its low end to all.
// - Small blocks come out of extents: chunks cut off as large blocks are, and
//   large chunks again once they are free. Among the blocks that outlive a
//   step many are small; between large ones, they would leave the free memory
//   in pieces a little more with every step. An arena of few extents has none.
// - Blocks large enough to be swapped start where a disk can be written from
//   and read to without a copy between. Their sizes are as exact as others'.
#ifndef SN_TF_CC_CORE_ARENA_H_
#define SN_TF_CC_CORE_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/core/chunk.h"
#include "cc/core/free_index.h"
#include "cc/core/offset_table.h"

namespace sn_tf {

struct ArenaStats {
  int64_t in_use_bytes = 0;      // Sum of allocated chunks.
  int64_t peak_bytes = 0;        // Largest in_use_bytes since ResetPeak.
  int64_t high_water_bytes = 0;  // Largest end offset since ResetPeak.
  int64_t largest_free_bytes = 0;
  int64_t allocations = 0;  // Successful Allocate calls, ever.

  // high_water_bytes / peak_bytes; 1 when nothing was allocated.
  double fragmentation() const;
};

class Arena {
 public:
  static constexpr int64_t kNoOffset = -1;

  // Blocks from this size on start at a multiple of what direct transfers ask
  // of addresses.
  static constexpr int64_t kDirectBytes = int64_t{64} << 10;
  static constexpr int64_t kDirectAlignmentBytes = 512;

  // A free chunk; good for Hold until the next call that changes the arena.
  struct FreeRange {
    int64_t offset = 0;
    int64_t bytes = 0;
    ChunkIndex chunk = kNoChunk;
  };

  // What an allocation took.
  struct Block {
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  // Offsets in [0, capacity_bytes), multiples of `alignment_bytes` (a power of
  // two); sizes are rounded up to it.
  explicit Arena(int64_t capacity_bytes, int64_t alignment_bytes = 64);

  // The offset of `bytes` free bytes, or kNoOffset where no free chunk is
  // large enough. Zero bytes take one alignment unit.
  int64_t Allocate(int64_t bytes);

  // The same at a multiple of `alignment_bytes`, a power of two.
  int64_t Allocate(int64_t bytes, int64_t alignment_bytes);

  // Frees what Allocate returned at `offset`, and returns its rounded size.
  // Ends the process where nothing is allocated there: memory that two owners
  // believe to be theirs cannot be repaired.
  int64_t Free(int64_t offset);

  // Rounded size of the allocation at `offset`; 0 where there is none.
  int64_t SizeOf(int64_t offset) const;

  // The size an allocation of `bytes` takes.
  int64_t RoundUp(int64_t bytes) const;

  // All that is allocated, by offset.
  std::vector<Block> Blocks() const;

  // Free chunks of at least `min_bytes`, smallest first.
  std::vector<FreeRange> FreeRanges(int64_t min_bytes) const;

  // Hold takes a free chunk out of reach of Allocate without its counting as
  // in use; Release makes it free again. For work on free memory during which
  // the arena goes on serving.
  void Hold(const FreeRange& range);
  void Release(const FreeRange& range);

  ArenaStats stats() const;
  int64_t in_use_bytes() const { return in_use_bytes_; }

  // Peak and high-water mark restart at what is in use.
  void ResetPeak();
  int64_t capacity_bytes() const { return capacity_bytes_; }

  // Checks every invariant; for tests. Linear in the number of chunks.
  bool IsValid() const;

 private:
  // Where in a free chunk a block goes.
  struct Fit {
    ChunkIndex chunk = kNoChunk;
    int64_t padding = 0;  // Below the block.
  };

  Fit FindIn(const FreeIndex& index, int64_t bytes,
             int64_t alignment_bytes) const;
  Fit FitIn(ChunkIndex chunk, int64_t bytes, int64_t alignment_bytes) const;
  // The index that `chunk` is in when it is free.
  FreeIndex& IndexOf(ChunkIndex chunk) {
    return pool_[chunk].in_extent ? small_ : large_;
  }
  // False where no large chunk has room for an extent.
  bool AddExtent();
  int64_t Place(Fit fit, int64_t bytes);
  // The first `bytes` of the free `chunk`, in no index; the rest stays in its.
  ChunkIndex TakeLowEnd(ChunkIndex chunk, int64_t bytes);
  // The part of the free `chunk` where `fit` puts the block, in no index, when
  // more is left below it than above. The rest stays in its index.
  ChunkIndex TakeHighEnd(Fit fit, int64_t bytes);
  // A new chunk, in no index, for the first `bytes` of the free `chunk`, which
  // the caller then shortens.
  ChunkIndex InsertBefore(ChunkIndex chunk, int64_t bytes);
  // The same for the last `bytes`.
  ChunkIndex InsertAfter(ChunkIndex chunk, int64_t bytes);
  // Forgets `chunk`; its neighbours are each other's.
  void Unlink(ChunkIndex chunk);
  void MakeFree(ChunkIndex chunk);
  // Whether a free part of an extent shall be a large chunk again.
  bool IsLarge(const Chunk& chunk) const;
  // Merges `chunk`, free and in no index yet, with free neighbours of its kind.
  ChunkIndex AddToIndex(ChunkIndex chunk);

  int64_t capacity_bytes_;
  int64_t alignment_bytes_;
  int64_t small_bytes_;  // Most that a small block has; 0: there are none.
  int64_t in_use_bytes_ = 0;
  int64_t peak_bytes_ = 0;
  int64_t high_water_bytes_ = 0;
  int64_t allocations_ = 0;
  ChunkIndex last_ = kNoChunk;  // The chunk that ends at the capacity.
  ChunkPool pool_;
  FreeIndex large_;
  FreeIndex small_;
  OffsetTable<ChunkPool> in_use_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_ARENA_H_
