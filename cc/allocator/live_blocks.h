// SPDX-License-Identifier: Apache-2.0
//
// Which op made what is live now.
#ifndef SN_TF_CC_ALLOCATOR_LIVE_BLOCKS_H_
#define SN_TF_CC_ALLOCATOR_LIVE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "cc/allocator/allocation_trace.h"
#include "cc/allocator/arena_mutex.h"
#include "cc/core/offset_table.h"

namespace sn_tf {

// The live blocks of one op.
struct LiveBuffers {
  std::string op;          // Empty: made where no op was running.
  bool of_before = false;  // Made before the step that is asked for.
  int64_t buffers = 0;
  int64_t bytes = 0;
  // Of the largest of them.
  int64_t largest_bytes = 0;
  AllocationEvent::Region region = AllocationEvent::Region::kOther;
  int32_t dtype = 0;  // tensorflow::DataType.
  std::string shape;  // "[32,56,56,64]"; empty where unknown.
};

// What is live, as the allocating threads told when they made it.
struct LiveMemory {
  std::vector<LiveBuffers> largest;  // Largest first; the same size: by name.
  int64_t before_bytes = 0;          // Of blocks from before the step.
};

// Notes for each block of at least kLeastBytes which op made it. An op makes
// the same blocks again step after step, so to note one is to find what was
// noted of the one before: the shape is asked for once for each size. Where an
// op has blocks of one size in two shapes, both are shown in the first.
// Thread-safe.
class LiveBlocks {
 public:
  static constexpr int64_t kLeastBytes = int64_t{64} << 10;

  // The thread that allocated the block calls this before it gives it away.
  void Add(int64_t offset, int64_t bytes);
  // Before the block's place can be taken by another. Of a block that was not
  // added it does nothing.
  void Remove(int64_t offset);

  // At most `count` entries. What was made in other steps than `step_id` is
  // from before it, and counted apart; outside of steps (0) nothing is.
  LiveMemory Largest(size_t count, int64_t step_id) const;

 private:
  // What was noted of an op's blocks that are of one kind and size.
  struct Maker {
    std::string op;
    AllocationEvent::Region region = AllocationEvent::Region::kOther;
    int32_t dtype = 0;
    std::string shape;
    int64_t live = 0;  // Blocks.
  };
  struct Key {
    std::string_view op;  // Of the maker itself, once it is there.
    AllocationEvent::Region region;
    int32_t dtype;
    int64_t bytes;

    bool operator==(const Key& other) const {
      return bytes == other.bytes && dtype == other.dtype && op == other.op &&
             region == other.region;
    }
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Block {
    int64_t offset = 0;
    int64_t bytes = 0;
    int64_t step_id = 0;
    Maker* maker = nullptr;  // nullptr: the entry is free.
  };

  // False, and nothing done, where nothing was noted of that maker yet.
  bool AddOfKnown(const Key& key, int64_t offset, int64_t step_id);
  void AddOf(Maker* maker, int64_t offset, int64_t bytes, int64_t step_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets who has no live blocks, once there are many makers: sizes may vary
  // from step to step without end.
  void ForgetMakers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable ArenaMutex mutex_;
  std::unordered_map<Key, std::unique_ptr<Maker>, KeyHash> makers_
      ABSL_GUARDED_BY(mutex_);
  size_t most_makers_ ABSL_GUARDED_BY(mutex_) = size_t{1} << 14;
  std::vector<Block> blocks_ ABSL_GUARDED_BY(mutex_);
  OffsetTable<std::vector<Block>> places_ ABSL_GUARDED_BY(mutex_);
  std::vector<ChunkIndex> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_LIVE_BLOCKS_H_
