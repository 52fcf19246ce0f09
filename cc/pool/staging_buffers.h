// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_STAGING_BUFFERS_H_
#define SN_TF_CC_POOL_STAGING_BUFFERS_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "cc/core/aligned_mapping.h"

namespace sn_tf {

// A bounded number of buffers, aligned to pages, used again and again.
// Thread-safe.
class StagingBuffers {
 public:
  // A buffer for as long as it lives. Move-only.
  class Lease {
   public:
    Lease(StagingBuffers* owner, AlignedMapping buffer)
        : owner_(owner), buffer_(std::move(buffer)) {}
    Lease(Lease&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)),
          buffer_(std::move(other.buffer_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();

    // nullptr where the system had no memory for one.
    char* base() const { return buffer_.base(); }

   private:
    StagingBuffers* owner_;
    AlignedMapping buffer_;
  };

  // Makes buffers as they are needed: at most `count`, of `bytes_each`.
  StagingBuffers(int count, int64_t bytes_each)
      : bytes_each_(bytes_each), unmade_(count) {}

  // Waits until one is free. Leases are short, and nobody holds two.
  Lease Acquire();

 private:
  const int64_t bytes_each_;
  std::mutex mutex_;
  std::condition_variable returned_;
  int unmade_;
  std::vector<AlignedMapping> free_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_STAGING_BUFFERS_H_
