// SPDX-License-Identifier: Apache-2.0
//
// A TensorFlow allocator over cc/core/arena: a hard budget, a pressure
// callback, statistics, and a trace.
//
// Model:
// - Memory comes from one reserved address range. A block's address is the
//   range's base plus the arena's offset.
// - In-use bytes never pass the budget. An allocation that would pass it, or
//   that finds no chunk in the range, asks the pressure callback for room and
//   tries again; when nobody can make room, and in a step nobody frees any for
//   a moment, it returns nullptr, which TensorFlow reports as ResourceExhausted
//   with the op's name.
// - Freed pages stay resident, ready for the next step, as long as what is
//   resident stays within the warm limit: the budget or, without one, the
//   recent peak and a quarter. What is beyond goes back to the system.
//   A device's memory serves nothing else, so it keeps its pages.
// Thread-safe; one lock, held for tens of nanoseconds, and while a large block
// is freed that of the notes on live blocks too.
// What happens where there is no room is in memory_shortage.cc and
// arena_refusals.cc.
#ifndef SN_TF_CC_ALLOCATOR_ARENA_ALLOCATOR_H_
#define SN_TF_CC_ALLOCATOR_ARENA_ALLOCATOR_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "cc/allocator/allocation_trace.h"
#include "cc/allocator/arena_mutex.h"
#include "cc/allocator/live_blocks.h"
#include "cc/allocator/refusal_log.h"
#include "cc/allocator/refusal_sink.h"
#include "cc/core/address_range.h"
#include "cc/core/arena.h"
#include "cc/core/immovable_memory.h"
#include "cc/core/resident_pages.h"
#include "xla/tsl/framework/allocator.h"

namespace sn_tf {

struct ArenaAllocatorStats {
  ArenaStats arena;
  int64_t budget_bytes = 0;         // 0: none.
  int64_t resident_bytes = 0;       // In use when the last observed step began;
                                    // in use now when none has.
  int64_t committed_bytes = 0;      // Pages that the system has given us.
  int64_t largest_alloc_bytes = 0;  // Since the last ClearStats.
  int64_t state_outside_bytes = 0;  // See AddStateOutside.
};

class ArenaAllocator : public tsl::Allocator {
 public:
  // Asked, without any lock held, to make room for `bytes_needed` more bytes.
  // Returns true if it is worth trying again. May be asked by several threads
  // at once, and may itself free and allocate.
  using PressureCallback = std::function<bool(int64_t bytes_needed)>;

  // Reserves up to `range_bytes` of addresses; it takes no memory. `type` is
  // what TensorFlow is told. Of type kDevice, the range is all the memory that
  // there is: an allocation for which it has no block is refused as one beyond
  // the budget is.
  ArenaAllocator(
      std::string name, int64_t range_bytes,
      tsl::AllocatorMemoryType type = tsl::AllocatorMemoryType::kHostPageable);

  // Whether there is no memory beside the range.
  bool is_all_memory() const {
    return type_ == tsl::AllocatorMemoryType::kDevice;
  }
  int64_t range_bytes() const { return range_.bytes(); }
  bool Contains(const void* address) const { return range_.Contains(address); }

  // Bounds the bytes in use; 0 lifts the bound. Returns an empty string, or
  // why the budget was refused (more is in use).
  std::string SetBudget(int64_t bytes);
  void SetPressureCallback(PressureCallback callback);
  // Says, for the trace, how much would leave if room were needed. To be set
  // before the first allocation.
  void SetEvictableCallback(std::function<int64_t()> callback) {
    evictable_ = std::move(callback);
  }

  // Asked, without any lock held, what could make no room and why, when a step
  // runs out of memory.
  using ImmovableCallback = std::function<ImmovableMemory()>;
  void SetImmovableCallback(ImmovableCallback callback);

  // Until CloseSink, ops of that step (or of any: RefusalSink::kAnyStep) get
  // memory that keeps nothing where there is no room; see refusal_sink.h. In a
  // trace that counts as memory.
  void OpenSink(int64_t step_id) { sink_.Open(step_id); }
  // The first allocation since then for which there was no room.
  std::optional<Refusal> FirstRefusal(int64_t step_id) const {
    return sink_.FirstOf(step_id);
  }
  std::optional<Refusal> CloseSink(int64_t step_id) {
    return sink_.Close(step_id);
  }
  RefusalSink* sink() { return &sink_; }
  RefusalLog* refusal_log() { return &log_; }
  const LiveBlocks& live_blocks() const { return live_; }

  // The arena as it is now, to try allocations in.
  Arena Snapshot() const;

  // Bytes of variables that are outside of this memory, where SnStateOut has
  // put them, and that come back: see cc/ops/outside_buffer.h.
  void AddStateOutside(int64_t bytes) { state_outside_bytes_ += bytes; }
  int64_t state_outside_bytes() const { return state_outside_bytes_; }

  // Tells that a step begins: what is in use now outlives steps.
  void MarkStepBegin();

  // Gives every free page back to the system now. Returns how many bytes.
  int64_t ReleaseFreePages();

  // Between StartTrace and StopTrace every allocation and release is recorded,
  // in the order in which they happened. Releases of blocks allocated before
  // StartTrace have the id 0. Ids are not reused by later traces. StartTrace
  // drops what a trace that nobody stopped has recorded.
  void StartTrace();
  std::vector<AllocationEvent> StopTrace();

  ArenaAllocatorStats stats() const;
  void ResetPeak();

  // tsl::Allocator.
  std::string Name() override { return name_; }
  void* AllocateRaw(size_t alignment, size_t num_bytes) override;
  void* AllocateRaw(size_t alignment, size_t num_bytes,
                    const tsl::AllocationAttributes& attributes) override;
  void DeallocateRaw(void* ptr) override;
  bool TracksAllocationSizes() const override { return true; }
  size_t RequestedSize(const void* ptr) const override;
  size_t AllocatedSize(const void* ptr) const override;
  std::optional<tsl::AllocatorStats> GetStats() override;
  bool ClearStats() override;
  tsl::AllocatorMemoryType GetMemoryType() const override { return type_; }

 private:
  enum class Outcome { kDone, kOverBudget, kNoAddresses };

  void* Allocate(size_t alignment, size_t num_bytes, bool may_wait);
  Outcome TryAllocate(int64_t bytes, int64_t alignment, void** block)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // What follows where TryAllocate ended with `outcome`: asks for room, waits,
  // or refuses.
  void* AllocateInShortage(int64_t bytes, int64_t alignment, Outcome outcome)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks for room until the allocation, of which `outcome` came, succeeds or
  // nobody can make any.
  Outcome AllocateUnderPressure(int64_t bytes, int64_t alignment,
                                Outcome outcome, void** block)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same while others free memory, for a moment.
  Outcome AllocateInGrace(int64_t bytes, int64_t alignment, Outcome outcome,
                          void** block) ABSL_LOCKS_EXCLUDED(mutex_);
  // Puts `callback`, which may be none, into `*held`, which is guarded. What
  // was there ends outside of the lock.
  template <typename Callback>
  void Exchange(std::shared_ptr<const Callback>* held, Callback callback)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // What to answer where there is no room; nullptr if nothing can be.
  void* Refuse(Outcome outcome, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  Refusal DescribeRefusal(Outcome outcome, int64_t bytes,
                          const AllocationEvent& event) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds to the first refusal of a step what is live, and tells of it.
  void TellOf(Refusal* refusal) ABSL_LOCKS_EXCLUDED(mutex_);
  // False where `ptr` is not of the sink.
  bool ReleaseSink(void* ptr) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the process where `ptr` is not of the arena.
  int64_t OffsetOf(const void* ptr) const;
  // Notes that a large block was released. True where the recent peak has
  // sunk so far that pages are to be given back.
  bool HasPeakDecayed(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DecommitToWarmLimit() ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives pages of free chunks back until `target_bytes` are resident.
  int64_t Decommit(int64_t target_bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string name_;
  const tsl::AllocatorMemoryType type_;
  AddressRange range_;
  std::atomic<bool> tracing_{false};
  std::atomic<int64_t> state_outside_bytes_{0};
  std::function<int64_t()> evictable_;
  RefusalSink sink_;
  RefusalLog log_;
  LiveBlocks live_;

  mutable ArenaMutex mutex_;
  // Notified when a decommit ends, and of releases for which somebody waits.
  std::condition_variable_any changed_;
  Arena arena_ ABSL_GUARDED_BY(mutex_);
  ResidentPages pages_ ABSL_GUARDED_BY(mutex_);
  AllocationTrace trace_ ABSL_GUARDED_BY(mutex_);
  int64_t budget_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int decommits_ ABSL_GUARDED_BY(mutex_) = 0;  // Under way, holding chunks.
  int64_t step_begin_bytes_ ABSL_GUARDED_BY(mutex_) = -1;  // -1: no step yet.
  int64_t largest_alloc_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const PressureCallback> pressure_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const ImmovableCallback> immovable_ ABSL_GUARDED_BY(mutex_);
  int64_t frees_ ABSL_GUARDED_BY(mutex_) = 0;  // Ever.
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;    // Threads, for a release.
  // Of large blocks, since the recent peak was last looked at.
  int64_t released_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The process's CPU arena, made on first use, never destroyed.
ArenaAllocator* CpuArena();

// Registers CpuArena with TensorFlow; see SnTfInstallAllocator.
bool InstallCpuArena();

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_ARENA_ALLOCATOR_H_
