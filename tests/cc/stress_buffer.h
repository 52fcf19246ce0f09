// SPDX-License-Identifier: Apache-2.0
//
// A device with little memory, and buffers that come and go, for stress tests:
// what swapped tensors do, without TensorFlow.
#ifndef SN_TF_TESTS_CC_STRESS_BUFFER_H_
#define SN_TF_TESTS_CC_STRESS_BUFFER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cc/pool/tensor_cache.h"
#include "cc/pool/transfer_progress.h"
#include "cc/pool/unified_pool.h"

namespace sn_tf {

// Thread-safe.
class StressDevice {
 public:
  using Words = std::vector<uint64_t>;

  explicit StressDevice(int64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  // Memory of the device. Move-only; free at its end.
  class Block {
   public:
    Block(StressDevice* device, int64_t bytes)
        : device_(device), words_((bytes + 7) / 8), bytes_(bytes) {}
    Block(Block&& other) noexcept
        : device_(std::exchange(other.device_, nullptr)),
          words_(std::move(other.words_)),
          bytes_(other.bytes_) {}
    Block& operator=(Block&&) = delete;
    ~Block() {
      if (device_ != nullptr) device_->in_use_bytes_ -= bytes_;
    }
    Words& words() { return words_; }

   private:
    StressDevice* device_;
    Words words_;
    const int64_t bytes_;
  };

  // None where nobody can make room. `*seen`: see TransferProgress::Wait.
  std::optional<Block> Allocate(int64_t bytes, uint64_t* seen);

  int64_t in_use_bytes() const { return in_use_bytes_; }

  TransferProgress leaving;
  TensorCache cache{&leaving};

 private:
  const int64_t budget_bytes_;
  std::atomic<int64_t> in_use_bytes_{0};
};

// How uses ended, of all threads.
struct StressCounts {
  std::atomic<int64_t> live{0};  // Buffers.
  std::atomic<int64_t> right{0};
  std::atomic<int64_t> wrong{0};
  std::atomic<int64_t> no_memory{0};
  std::atomic<int64_t> cancelled{0};
  std::atomic<int64_t> lost{0};
};

// Thread-safe.
class StressBuffer : public Evictable,
                     public std::enable_shared_from_this<StressBuffer> {
 public:
  // Of contents that follow from `seed`, in `block`.
  StressBuffer(StressDevice* device, UnifiedPool* pool, StressCounts* counts,
               uint64_t seed, int64_t bytes, StressDevice::Block block);
  ~StressBuffer() override;

  // Copies it back, if it is away, and compares every byte. False where it is
  // lost.
  bool Use(uint64_t* seen);

  // Begins to copy it back; nobody waits for it.
  void Prefetch(uint64_t* seen);

  // What is under way is needed at once, or not at all.
  void Hurry();
  void Cancel();

  // Evictable.
  int64_t bytes() const override { return bytes_; }
  bool IsLocked() const override;
  Eviction Evict() override;

 private:
  void OnOut(PooledBuffer stored, const TierError& error);
  void OnBack(StressDevice::Block block, const TierError& error);
  // Where it is away, and nobody brings it back, the caller has to.
  bool Claim();
  void BringBack(uint64_t* seen);
  bool IsRight(const StressDevice::Words& words) const;
  std::shared_ptr<UnifiedPool::Transit> NewTransit();
  std::shared_ptr<UnifiedPool::Transit> transit() const;

  StressDevice* const device_;
  UnifiedPool* const pool_;
  StressCounts* const counts_;
  const uint64_t seed_;
  const int64_t bytes_;

  mutable std::mutex mutex_;
  std::condition_variable back_;              // Or it could not come back.
  std::optional<StressDevice::Block> block_;  // None while it is away.
  std::shared_ptr<PooledBuffer> stored_;
  std::shared_ptr<UnifiedPool::Transit> transit_;
  TierError failed_;  // Of the latest copy back.
  bool no_memory_ = false;
  bool leaving_ = false;
  bool returning_ = false;
  int users_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_STRESS_BUFFER_H_
