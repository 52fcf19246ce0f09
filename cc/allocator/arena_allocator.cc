// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/arena_allocator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/core/bytes.h"
#include "xla/tsl/platform/logging.h"

namespace sn_tf {
namespace {

constexpr int64_t kAlignmentBytes = tsl::Allocator::kAllocatorAlignment;
constexpr int64_t kLeastRangeBytes = int64_t{64} << 20;
// Releases from this size on are a chance to let the recent peak decay.
constexpr int64_t kLargeBytes = int64_t{1} << 20;
// One is taken whenever so much has been released: asking for the time takes
// as long as an allocation.
constexpr int64_t kReleasedBytes = int64_t{64} << 20;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ArenaAllocator::ArenaAllocator(std::string name, int64_t range_bytes,
                               tsl::AllocatorMemoryType type)
    : name_(std::move(name)),
      type_(type),
      range_(range_bytes, std::min(range_bytes, kLeastRangeBytes)),
      arena_(range_.bytes(), kAlignmentBytes),
      pages_(range_.unit_bytes()) {}

std::string ArenaAllocator::SetBudget(int64_t bytes) {
  if (bytes < 0) {
    return absl::StrCat("The budget must not be negative. Received: ", bytes,
                        " bytes. Pass 0 to lift the budget.");
  }
  bool decommit;
  {
    ArenaMutexLock lock(&mutex_);
    const int64_t in_use = arena_.in_use_bytes();
    if (bytes > 0 && in_use > bytes) {
      return absl::StrCat(
          "The budget of ", FormatBytes(bytes), " (", bytes,
          " bytes) was refused: ", FormatBytes(in_use), " (", in_use,
          " bytes) are in use in ", name_,
          " now. Delete tensors and models that are no longer needed, or set "
          "a budget of at least that much.");
    }
    budget_bytes_ = bytes;
    decommit = pages_.resident_bytes() > pages_.WarmLimit(bytes);
  }
  if (decommit) DecommitToWarmLimit();
  return "";
}

template <typename Callback>
void ArenaAllocator::Exchange(std::shared_ptr<const Callback>* held,
                              Callback callback) {
  std::shared_ptr<const Callback> shared;
  if (callback != nullptr) {
    shared = std::make_shared<const Callback>(std::move(callback));
  }
  ArenaMutexLock lock(&mutex_);
  held->swap(shared);
}

void ArenaAllocator::SetPressureCallback(PressureCallback callback) {
  Exchange(&pressure_, std::move(callback));
}

void ArenaAllocator::SetImmovableCallback(ImmovableCallback callback) {
  Exchange(&immovable_, std::move(callback));
}

void ArenaAllocator::MarkStepBegin() {
  ArenaMutexLock lock(&mutex_);
  step_begin_bytes_ = arena_.in_use_bytes();
}

int64_t ArenaAllocator::ReleaseFreePages() { return Decommit(0); }

void ArenaAllocator::StartTrace() {
  ArenaMutexLock lock(&mutex_);
  trace_.Start();
  tracing_.store(true, std::memory_order_relaxed);
}

std::vector<AllocationEvent> ArenaAllocator::StopTrace() {
  ArenaMutexLock lock(&mutex_);
  tracing_.store(false, std::memory_order_relaxed);
  return trace_.Stop();
}

ArenaAllocatorStats ArenaAllocator::stats() const {
  ArenaMutexLock lock(&mutex_);
  ArenaAllocatorStats stats;
  stats.arena = arena_.stats();
  stats.budget_bytes = budget_bytes_;
  stats.resident_bytes =
      step_begin_bytes_ < 0 ? stats.arena.in_use_bytes : step_begin_bytes_;
  stats.committed_bytes = pages_.resident_bytes();
  stats.largest_alloc_bytes = largest_alloc_bytes_;
  stats.state_outside_bytes = state_outside_bytes_;
  return stats;
}

Arena ArenaAllocator::Snapshot() const {
  ArenaMutexLock lock(&mutex_);
  return arena_;
}

void ArenaAllocator::ResetPeak() {
  ArenaMutexLock lock(&mutex_);
  arena_.ResetPeak();
}

void* ArenaAllocator::AllocateRaw(size_t alignment, size_t num_bytes) {
  return Allocate(alignment, num_bytes, /*may_wait=*/true);
}

void* ArenaAllocator::AllocateRaw(size_t alignment, size_t num_bytes,
                                  const tsl::AllocationAttributes& attributes) {
  return Allocate(alignment, num_bytes, attributes.retry_on_failure);
}

void* ArenaAllocator::Allocate(size_t alignment, size_t num_bytes,
                               bool may_wait) {
  // More than any memory, and sums with it do not overflow.
  constexpr size_t kMost = size_t{1} << 62;
  const auto bytes = static_cast<int64_t>(std::min(num_bytes, kMost));
  const auto aligned = static_cast<int64_t>(std::min(alignment, kMost));
  void* block = nullptr;
  const Outcome outcome = TryAllocate(bytes, aligned, &block);
  if (outcome == Outcome::kDone) return block;
  // Without `may_wait` the caller has another way, and wants no trouble made.
  return may_wait ? AllocateInShortage(bytes, aligned, outcome) : nullptr;
}

ArenaAllocator::Outcome ArenaAllocator::TryAllocate(int64_t bytes,
                                                    int64_t alignment,
                                                    void** block) {
  // Offsets are aligned as addresses are only up to the base's own alignment.
  if (bytes > range_.bytes() || alignment > AddressRange::kBaseAlignmentBytes) {
    return Outcome::kNoAddresses;
  }
  std::optional<AllocationEvent> event;
  if (tracing_.load(std::memory_order_relaxed)) {
    event = DescribeAllocation();
    if (evictable_) event->evictable_bytes = evictable_();
  }
  int64_t offset;
  bool decommit = false;
  {
    ArenaMutexLock lock(&mutex_);
    const int64_t rounded = arena_.RoundUp(bytes);
    while (true) {
      if (budget_bytes_ > 0 &&
          arena_.in_use_bytes() + rounded > budget_bytes_) {
        return Outcome::kOverBudget;
      }
      offset = arena_.Allocate(bytes, alignment);
      if (offset != Arena::kNoOffset) break;
      if (decommits_ == 0) return Outcome::kNoAddresses;
      // The chunks held by another thread are free, and back in a moment.
      changed_.wait(mutex_, [this] { return decommits_ == 0; });
    }
    largest_alloc_bytes_ = std::max(largest_alloc_bytes_, rounded);
    if (pages_.Touch(offset, rounded, arena_.in_use_bytes())) {
      decommit = pages_.ShouldDecommit(budget_bytes_);
    }
    if (event.has_value() && trace_.active()) {
      trace_.RecordAllocation(offset, rounded, *std::move(event));
    }
  }
  if (bytes >= LiveBlocks::kLeastBytes) live_.Add(offset, bytes);
  // The new block's pages are not touched yet: others go first.
  if (decommit) DecommitToWarmLimit();
  *block = range_.base() + offset;
  return Outcome::kDone;
}

int64_t ArenaAllocator::OffsetOf(const void* ptr) const {
  if (!range_.Contains(ptr)) {
    LOG(FATAL) << name_ << ": asked about or to free " << ptr
               << ", which is not memory of this allocator.";
  }
  return static_cast<const char*>(ptr) - range_.base();
}

void ArenaAllocator::DeallocateRaw(void* ptr) {
  if (ptr == nullptr) return;
  if (!range_.Contains(ptr) && ReleaseSink(ptr)) return;
  const int64_t offset = OffsetOf(ptr);
  bool decommit = false;
  bool awaited;
  {
    ArenaMutexLock lock(&mutex_);
    const int64_t bytes = arena_.Free(offset);
    if (bytes >= LiveBlocks::kLeastBytes) live_.Remove(offset);
    ++frees_;
    awaited = waiting_ > 0;
    if (trace_.active()) trace_.RecordFree(offset, bytes);
    if (bytes >= kLargeBytes && budget_bytes_ == 0) {
      decommit = HasPeakDecayed(bytes);
    }
  }
  if (awaited) changed_.notify_all();
  if (decommit) DecommitToWarmLimit();
}

bool ArenaAllocator::HasPeakDecayed(int64_t bytes) {
  released_bytes_ += bytes;
  if (released_bytes_ < kReleasedBytes) return false;
  released_bytes_ = 0;
  pages_.Advance(NowNs(), arena_.in_use_bytes());
  return pages_.ShouldDecommit(0);
}

void ArenaAllocator::DecommitToWarmLimit() {
  // Nobody else has any use for a device's pages.
  if (is_all_memory()) return;
  int64_t target;
  {
    ArenaMutexLock lock(&mutex_);
    const int64_t limit = pages_.WarmLimit(budget_bytes_);
    // A little below the limit, so that not every allocation ends up here.
    target = limit - limit / 32;
  }
  Decommit(target);
}

int64_t ArenaAllocator::Decommit(int64_t target_bytes) {
  std::vector<ResidentPages::Piece> pieces;
  {
    ArenaMutexLock lock(&mutex_);
    pieces = pages_.Take(arena_, target_bytes);
    if (pieces.empty()) return 0;
    ++decommits_;
  }
  // The chunks are held: nobody else can have them while the system works.
  int64_t decommitted = 0;
  std::vector<const ResidentPages::Piece*> refused;
  for (const ResidentPages::Piece& piece : pieces) {
    if (range_.Decommit(piece.offset, piece.bytes)) {
      decommitted += piece.bytes;
    } else {
      refused.push_back(&piece);
    }
  }
  ArenaMutexLock lock(&mutex_);
  for (const ResidentPages::Piece* piece : refused) {
    pages_.Touch(piece->offset, piece->bytes, arena_.in_use_bytes());
  }
  for (const ResidentPages::Piece& piece : pieces) {
    arena_.Release(piece.chunk);
  }
  --decommits_;
  changed_.notify_all();
  return decommitted;
}

size_t ArenaAllocator::AllocatedSize(const void* ptr) const {
  if (!range_.Contains(ptr)) {
    const int64_t bytes = sink_.SizeOf(ptr);
    if (bytes > 0) return static_cast<size_t>(bytes);
  }
  const int64_t offset = OffsetOf(ptr);
  ArenaMutexLock lock(&mutex_);
  return static_cast<size_t>(arena_.SizeOf(offset));
}

size_t ArenaAllocator::RequestedSize(const void* ptr) const {
  // Less than one alignment unit above the truth, for not storing it.
  return AllocatedSize(ptr);
}

std::optional<tsl::AllocatorStats> ArenaAllocator::GetStats() {
  const ArenaAllocatorStats ours = stats();
  tsl::AllocatorStats stats;
  stats.num_allocs = ours.arena.allocations;
  stats.bytes_in_use = ours.arena.in_use_bytes;
  stats.peak_bytes_in_use = ours.arena.peak_bytes;
  stats.largest_alloc_size = ours.largest_alloc_bytes;
  if (ours.budget_bytes > 0) stats.bytes_limit = ours.budget_bytes;
  stats.largest_free_block_bytes = ours.arena.largest_free_bytes;
  stats.pool_bytes = ours.committed_bytes;
  return stats;
}

bool ArenaAllocator::ClearStats() {
  ArenaMutexLock lock(&mutex_);
  arena_.ResetPeak();
  largest_alloc_bytes_ = 0;
  return true;
}

}  // namespace sn_tf
