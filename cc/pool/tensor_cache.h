// SPDX-License-Identifier: Apache-2.0
//
// The tensor cache (SuperNeurons, 3.3.2, Algorithm 2): buffers that may move
// out of a device's arena but stay there until memory is needed. Then the least
// recently used one that no running op depends on goes first.
#ifndef SN_TF_CC_POOL_TENSOR_CACHE_H_
#define SN_TF_CC_POOL_TENSOR_CACHE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cc/core/immovable_memory.h"
#include "cc/core/lru.h"
#include "cc/pool/transfer_progress.h"

namespace sn_tf {

// A buffer that the cache may move out.
class Evictable {
 public:
  virtual ~Evictable() = default;

  virtual int64_t bytes() const = 0;

  // Whether an op, or anyone else, uses the memory, so that moving the buffer
  // out would free nothing.
  virtual bool IsLocked() const = 0;

  enum class Eviction {
    kFailed,   // It stays.
    kLeaving,  // A transfer has begun that will free it.
    kFreed,    // A tier had a copy already.
  };
  // Begins to move the buffer out. Called without the cache's lock.
  virtual Eviction Evict() = 0;
};

struct TensorCacheStats {
  int64_t hits = 0;          // Buffers that were wanted back and still there.
  int64_t misses = 0;        // Those that had to be copied back.
  int64_t evictions = 0;     // Buffers moved out because memory was needed.
  int64_t cached_bytes = 0;  // Of buffers that may move, now.
};

// Thread-safe. Keeps no buffer alive.
class TensorCache {
 public:
  // `leaving` hears of all transfers that free memory of the device, evictions
  // and others.
  explicit TensorCache(TransferProgress* leaving) : leaving_(leaving) {}

  // From here on `buffer` may be evicted; it is the most recently used one.
  void Insert(const std::shared_ptr<Evictable>& buffer);
  void Touch(const Evictable* buffer);
  // It is gone, or may not move any more.
  void Erase(const Evictable* buffer);

  // Makes room for `bytes` more: begins to evict what is missing from the
  // transfers under way, and waits for one of them. False where nothing is
  // left that could make room. `*seen`: see TransferProgress::Wait.
  bool MakeRoom(int64_t bytes, uint64_t* seen);

  void CountHit();
  void CountMiss();

  // A buffer could not be moved out, and stays until it is erased, or inserted
  // again for another attempt.
  void Refused(const Evictable* buffer, std::string reason);

  // What cannot make room, and why.
  ImmovableMemory immovable() const;

  // What MakeRoom could evict.
  int64_t evictable_bytes() const;

  TensorCacheStats stats() const;

 private:
  // Begins to evict buffers until they come to `bytes`, if there are so many.
  void Evict(int64_t bytes);
  // The least recently used buffers that come to `bytes`, taken out of the
  // cache.
  std::vector<std::shared_ptr<Evictable>> TakeVictims(int64_t bytes);

  TransferProgress* const leaving_;
  mutable std::mutex mutex_;
  Lru<const Evictable*> order_;
  std::unordered_map<const Evictable*, std::weak_ptr<Evictable>> buffers_;
  std::unordered_map<const Evictable*, int64_t> refused_;  // Their bytes.
  std::string refusal_;  // The reason of the latest.
  TensorCacheStats stats_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_TENSOR_CACHE_H_
