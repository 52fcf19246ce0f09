// SPDX-License-Identifier: Apache-2.0
//
// A tier: one pool of the Unified Tensor Pool beside the device's arena.
#ifndef SN_TF_CC_POOL_TIER_H_
#define SN_TF_CC_POOL_TIER_H_

#include <cstdint>
#include <functional>
#include <string>

namespace sn_tf {

class Tier;

// What a tier stores of one buffer. Move-only; frees the storage at its end,
// which the tier must outlive.
class StoredBuffer {
 public:
  StoredBuffer() = default;
  // `location` means something to `tier` only.
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

// Thread-safe. Store and Load return at once; the copy runs on a thread of the
// tier's link, which then calls `done`, exactly once. `error` is empty, or says
// why nothing was copied; `done` may also be called before Store or Load
// returns. `done` must not block.
class Tier {
 public:
  using StoreDone =
      std::function<void(StoredBuffer stored, const std::string& error)>;
  using LoadDone = std::function<void(const std::string& error)>;

  virtual ~Tier() = default;

  // Copies `bytes` from `source`, which must not change until `done`.
  virtual void Store(const void* source, int64_t bytes, StoreDone done) = 0;

  // Copies `stored`, which is this tier's, to `destination`. Both must last
  // until `done`.
  virtual void Load(const StoredBuffer& stored, void* destination,
                    LoadDone done) = 0;

  virtual int64_t in_use_bytes() const = 0;

 private:
  friend class StoredBuffer;
  virtual void Free(int64_t location) = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_TIER_H_
