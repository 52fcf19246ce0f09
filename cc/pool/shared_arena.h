// SPDX-License-Identifier: Apache-2.0
//
// The arena that a tier places buffers with: shared by threads, and by work on
// free ranges that takes long.
#ifndef SN_TF_CC_POOL_SHARED_ARENA_H_
#define SN_TF_CC_POOL_SHARED_ARENA_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "cc/core/arena.h"

namespace sn_tf {

// Thread-safe.
class SharedArena {
 public:
  // Allocated offsets. Move-only; free at its end, which the arena must
  // outlive.
  class Block {
   public:
    Block() = default;
    Block(SharedArena* arena, int64_t offset)
        : arena_(arena), offset_(offset) {}
    Block(Block&& other) noexcept;
    Block& operator=(Block&& other) noexcept;
    ~Block();

    explicit operator bool() const { return arena_ != nullptr; }
    int64_t offset() const { return offset_; }

   private:
    SharedArena* arena_ = nullptr;
    int64_t offset_ = 0;
  };

  // Offsets in [0, capacity_bytes), multiples of `alignment_bytes`, a power of
  // two, to which sizes are rounded up.
  SharedArena(int64_t capacity_bytes, int64_t alignment_bytes)
      : arena_(capacity_bytes, alignment_bytes) {}

  // Empty where no free range is large enough.
  Block Allocate(int64_t bytes);

  int64_t capacity_bytes() const { return arena_.capacity_bytes(); }
  int64_t in_use_bytes() const;
  int64_t largest_free_bytes() const;

  // Calls `release` for every free range of at least `least_bytes` that was in
  // use before, while nothing can be placed there.
  void ReleaseFree(
      int64_t least_bytes,
      const std::function<void(int64_t offset, int64_t bytes)>& release);

 private:
  mutable std::mutex mutex_;
  std::condition_variable released_;
  int releases_ = 0;  // Under way, holding free ranges.
  Arena arena_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_SHARED_ARENA_H_
