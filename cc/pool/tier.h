// SPDX-License-Identifier: Apache-2.0
//
// A tier: one pool of the Unified Tensor Pool beside the device's arena
// (SuperNeurons, 3.3.1). A tier knows where buffers lie and how one chunk is
// copied; it has no threads. Who copies when is the transfer engine's concern
// (see unified_pool.h), so a tier may block.
#ifndef SN_TF_CC_POOL_TIER_H_
#define SN_TF_CC_POOL_TIER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cc/pool/tier_error.h"

namespace sn_tf {

class Tier;

// What a tier stores of one buffer. Move-only; frees the storage at its end,
// which the tier must outlive.
class StoredBuffer {
 public:
  StoredBuffer() = default;
  // `location` means something to `tier` only; `bytes` is the buffer's size,
  // whatever it takes there.
  StoredBuffer(Tier* tier, int64_t location, int64_t bytes)
      : tier_(tier), location_(location), bytes_(bytes) {}
  StoredBuffer(StoredBuffer&& other) noexcept;
  StoredBuffer& operator=(StoredBuffer&& other) noexcept;
  ~StoredBuffer();

  // nullptr where nothing is stored.
  Tier* tier() const { return tier_; }
  int64_t location() const { return location_; }
  int64_t bytes() const { return bytes_; }

 private:
  Tier* tier_ = nullptr;
  int64_t location_ = 0;
  int64_t bytes_ = 0;
};

// One buffer on its way, chunk by chunk. Used by one thread at a time. Ended
// before it is done, it gives back whatever it took.
class TierCopy {
 public:
  enum class Progress { kMore, kDone, kFailed };

  virtual ~TierCopy() = default;

  // Copies the next chunk, which takes a few milliseconds at most. After
  // kFailed, `*error` says why, and the copy is of no more use; after kDone and
  // kFailed it is not called again.
  virtual Progress CopyChunk(TierError* error) = 0;
};

class TierWrite : public TierCopy {
 public:
  // What was stored; once, after kDone.
  virtual StoredBuffer Take() = 0;
};

// A stored buffer as memory that the processor reads. The buffer must outlive
// it.
class StoredView {
 public:
  virtual ~StoredView() = default;

  virtual const void* data() const = 0;
};

struct TierUsage {
  int64_t limit_bytes = 0;   // Most that it may take.
  int64_t taken_bytes = 0;   // Taken now, in its own memory or file.
  int64_t stored_bytes = 0;  // Size of the buffers that it stores now.
};

// Thread-safe.
class Tier {
 public:
  virtual ~Tier() = default;

  // "host", "compressed", "file".
  virtual const char* name() const = 0;

  // Begins to copy `bytes` from `source`, which must not change until the copy
  // has ended. nullptr, and `*error`, where that is known to be in vain.
  virtual std::unique_ptr<TierWrite> BeginWrite(const void* source,
                                                int64_t bytes,
                                                TierError* error) = 0;

  // Begins to copy `stored`, which is this tier's, to `destination`. Both must
  // last until the copy has ended.
  virtual std::unique_ptr<TierCopy> BeginRead(const StoredBuffer& stored,
                                              void* destination) = 0;

  // `stored`, which is this tier's, as memory; nullptr where it cannot be.
  virtual std::unique_ptr<StoredView> View(const StoredBuffer& /*stored*/) {
    return nullptr;
  }

  virtual TierUsage usage() const = 0;

  // What `stored` takes there.
  virtual int64_t TakenBy(const StoredBuffer& stored) const {
    return stored.bytes();
  }

  // Gives what is taken but free back to the system. Slow.
  virtual void ReleaseFreeSpace() = 0;

 private:
  friend class StoredBuffer;
  virtual void Free(int64_t location) = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_TIER_H_
