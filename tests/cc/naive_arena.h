// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_CC_NAIVE_ARENA_H_
#define SN_TF_TESTS_CC_NAIVE_ARENA_H_

#include <cstdint>
#include <map>
#include <vector>

#include "cc/core/arena.h"

namespace sn_tf {

// What an Arena promises, in the fewest words: one map of pieces, searched
// linearly.
//
// A block takes the low end of the best fit: the smallest free piece that is
// large enough, the lowest of that size. Where that has no room from an aligned
// offset on, it takes the best fit for its bytes and the most padding.
// Blocks of 64 KiB and more have an alignment of 512 bytes at least, and take
// the high end, but for the piece that ends at the capacity.
// A small block (at most 32 KiB, as is its alignment) is placed among the free
// pieces of extents; if none will do, an extent of 256 KiB is cut off from the
// best fit among the others. All else, and what finds no room so, is placed
// among the other pieces, and at last in extents.
// Neighbours that are free are one piece, but for those of extents and others.
// A free piece of extents is none of theirs any more from 512 KiB on, or where
// neither neighbour is part of an extent.
class NaiveArena {
 public:
  struct Range {
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  // kAuto: in extents where there is room for 256 of them.
  enum class SmallBlocks { kAuto, kAmongOthers };

  NaiveArena(int64_t capacity_bytes, int64_t unit_bytes,
             SmallBlocks small_blocks = SmallBlocks::kAuto);

  // As the calls of Arena by the same names.
  int64_t Allocate(int64_t bytes) { return Allocate(bytes, unit_); }
  int64_t Allocate(int64_t bytes, int64_t alignment_bytes);
  int64_t Free(int64_t offset);
  int64_t SizeOf(int64_t offset) const;
  std::vector<Range> Blocks() const;
  std::vector<Range> FreeRanges(int64_t min_bytes) const;
  void Hold(int64_t offset);
  void Release(int64_t offset);
  void ResetPeak();
  ArenaStats stats() const;
  int64_t capacity_bytes() const { return capacity_; }

 private:
  enum class State { kFree, kInUse, kHeld };
  struct Piece {
    int64_t bytes = 0;
    State state = State::kFree;
    bool in_extent = false;
  };
  using Pieces = std::map<int64_t, Piece>;  // By offset.
  struct Place {
    Pieces::iterator piece;
    int64_t padding = 0;
  };

  int64_t RoundUp(int64_t bytes) const;
  // pieces_.end() where none is large enough.
  Pieces::iterator BestFit(bool in_extent, int64_t bytes);
  // -1 where no aligned offset will do.
  int64_t PaddingIn(Pieces::iterator piece, int64_t bytes,
                    int64_t alignment_bytes);
  Place FindPlace(bool in_extent, int64_t bytes, int64_t alignment_bytes);
  Place FindSmallPlace(int64_t bytes, int64_t alignment_bytes);
  // Leaves `bytes` of `piece`, and returns the rest of it, if any.
  Pieces::iterator Split(Pieces::iterator piece, int64_t bytes);
  void MakeFree(Pieces::iterator piece);
  // Joins `piece`, which is free, with free neighbours of its kind.
  Pieces::iterator Merge(Pieces::iterator piece);
  bool IsBesideExtent(Pieces::iterator piece);

  int64_t capacity_;
  int64_t unit_;
  int64_t small_bytes_;  // The most a small block has; 0: there are none.
  Pieces pieces_;        // Cover all of the capacity.
  int64_t peak_ = 0;
  int64_t high_water_ = 0;
  int64_t allocations_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_NAIVE_ARENA_H_
