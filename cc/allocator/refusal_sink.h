// SPDX-License-Identifier: Apache-2.0
//
// What kernels get that cannot bear to be refused memory.
#ifndef SN_TF_CC_ALLOCATOR_REFUSAL_SINK_H_
#define SN_TF_CC_ALLOCATOR_REFUSAL_SINK_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "cc/allocator/refusal.h"
#include "cc/core/aligned_mapping.h"
#include "cc/core/sink_memory.h"

namespace sn_tf {

// Several of TensorFlow's oneDNN kernels go on with a null output when they
// are refused memory, and end the process. While the sink is open they get
// memory that keeps nothing instead: the step runs on, its results mean
// nothing, and whoever opened the sink must see to it that they are not used.
// Objects and small blocks are kept, because others rely on what they hold.
// Thread-safe.
class RefusalSink {
 public:
  static constexpr int64_t kAnyStep = -1;

  // Opens for allocations of that step, or of any. Several steps may run at
  // once.
  void Open(int64_t step_id);
  // Whether it is open for that very step.
  bool IsOpenFor(int64_t step_id) const;
  // The first refusal of that step since Open.
  std::optional<Refusal> FirstOf(int64_t step_id) const;
  // Returns the same. Blocks taken stay valid until they are released.
  std::optional<Refusal> Close(int64_t step_id);

  // Blocks below this keep what is written, for it may be sizes and indices.
  static constexpr int64_t kLeastBytes = int64_t{64} << 10;

  // While one lives, the sink is open for what its thread allocates outside of
  // steps for which it is. One of a thread at a time.
  class OfThread {
   public:
    explicit OfThread(RefusalSink* sink);
    ~OfThread();

    OfThread(const OfThread&) = delete;
    OfThread& operator=(const OfThread&) = delete;

    const std::optional<Refusal>& first() const { return first_; }

   private:
    friend class RefusalSink;

    RefusalSink* const sink_;
    std::optional<Refusal> first_;
  };

  // Memory for an allocation that was refused; nullptr where the sink is not
  // open for that step, or the system refuses. Where the elements may be more
  // than `plain_bytes`, references to other memory, it keeps what is written.
  void* Take(int64_t step_id, const Refusal& refusal, bool plain_bytes);

  // Returns the bytes of that block and releases it; 0 where there is none.
  int64_t Release(const void* block);
  int64_t SizeOf(const void* block) const;

 private:
  // Where to note the first refusal; nullptr where the sink is not open.
  std::optional<Refusal>* OpenFor(int64_t step_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  // The first refusal of each step for which the sink is open.
  std::map<int64_t, std::optional<Refusal>> open_ ABSL_GUARDED_BY(mutex_);
  std::optional<SinkMemory> memory_ ABSL_GUARDED_BY(mutex_);
  std::map<const void*, AlignedMapping> blocks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_REFUSAL_SINK_H_
