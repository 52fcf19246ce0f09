// SPDX-License-Identifier: Apache-2.0
//
// Records which op allocates what, and when it is released.
#ifndef SN_TF_CC_ALLOCATOR_ALLOCATION_TRACE_H_
#define SN_TF_CC_ALLOCATOR_ALLOCATION_TRACE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sn_tf {

struct AllocationEvent {
  // kRefused: an allocation that failed; nothing was taken.
  enum class Kind { kAllocate, kFree, kRefused };
  enum class Region { kOutput, kTemp, kPersistent, kOther };
  int64_t time_ns = 0;  // Monotonic clock.
  int64_t step_id = 0;
  uint64_t id = 0;     // Pairs an allocation with its release; 0 for releases
                       // of blocks allocated before the trace began.
  int64_t offset = 0;  // From the arena's base.
  int64_t bytes = 0;   // As requested, rounded up to the alignment.
  // In use, but would have left had this allocation needed room.
  int64_t evictable_bytes = 0;
  Kind kind = Kind::kAllocate;
  // The rest is not known of releases.
  Region region = Region::kOther;
  std::string op;     // Empty where no op was running.
  int32_t dtype = 0;  // tensorflow::DataType.
  std::string shape;  // "[32,56,56,64]"; empty where unknown.
};

// Of the name that TensorFlow has for it.
AllocationEvent::Region RegionOf(std::string_view name);

// What TensorFlow says about the allocation that this thread is making: step,
// op, region, dtype and shape.
AllocationEvent DescribeAllocation();

// Not thread-safe: the allocator records under its lock, so that the order of
// events is the order in which they happened.
class AllocationTrace {
 public:
  void Start();
  std::vector<AllocationEvent> Stop();
  bool active() const { return active_; }

  // `event` as DescribeAllocation made it, before the lock was taken.
  // `offset` from the arena's base, also of blocks outside it.
  void RecordAllocation(int64_t offset, int64_t bytes, AllocationEvent event);
  void RecordFree(int64_t offset, int64_t bytes);
  void RecordRefusal(int64_t bytes, AllocationEvent event);

 private:
  bool active_ = false;
  uint64_t last_id_ = 0;
  std::unordered_map<int64_t, uint64_t> live_ids_;  // By offset.
  std::vector<AllocationEvent> events_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_ALLOCATION_TRACE_H_
