// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_CHUNKED_COPY_H_
#define SN_TF_CC_POOL_CHUNKED_COPY_H_

#include <algorithm>
#include <cstdint>

#include "cc/pool/stream_copy.h"
#include "cc/pool/tier.h"

namespace sn_tf {

// A copy from memory to memory in chunks. The blocks must not overlap.
class ChunkedCopy {
 public:
  // About a millisecond's worth.
  static constexpr int64_t kChunkBytes = int64_t{8} << 20;

  ChunkedCopy() = default;
  ChunkedCopy(void* destination, const void* source, int64_t bytes)
      : destination_(static_cast<char*>(destination)),
        source_(static_cast<const char*>(source)),
        bytes_(bytes) {}

  // Copies the next chunk; kDone with the last one.
  TierCopy::Progress CopyChunk() {
    const int64_t bytes = std::min(kChunkBytes, bytes_ - copied_);
    StreamCopy(destination_ + copied_, source_ + copied_, bytes);
    copied_ += bytes;
    return copied_ == bytes_ ? TierCopy::Progress::kDone
                             : TierCopy::Progress::kMore;
  }

 private:
  char* destination_ = nullptr;
  const char* source_ = nullptr;
  int64_t bytes_ = 0;
  int64_t copied_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_CHUNKED_COPY_H_
