// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_STAGED_FILE_H_
#define SN_TF_CC_POOL_STAGED_FILE_H_

#include <cstdint>
#include <memory>

#include "cc/pool/staging_buffers.h"
#include "cc/pool/swap_file.h"
#include "cc/pool/tier_error.h"

namespace sn_tf {

// A swap file for any address and any size: whole blocks at an address that the
// disk takes are transferred as they are, all else by way of a staging buffer.
// Thread-safe for ranges that do not overlap.
class StagedFile {
 public:
  // The largest transfer. Larger ones are hardly faster, and take longer than
  // the few milliseconds of a chunk.
  static constexpr int64_t kChunkBytes = int64_t{4} << 20;

  explicit StagedFile(std::unique_ptr<SwapFile> file)
      : file_(std::move(file)), staging_(kStagingBuffers, kChunkBytes) {}

  SwapFile& file() const { return *file_; }

  // `offset` is a multiple of SwapFile::kBlockBytes, `bytes` at most
  // kChunkBytes. The blocks that the range begins in are written whole.
  TierError Write(int64_t offset, const void* source, int64_t bytes);

  // Writes exactly `bytes` of `destination`.
  TierError Read(int64_t offset, void* destination, int64_t bytes);

 private:
  // More copies at once than a disk gains from.
  static constexpr int kStagingBuffers = 4;

  // How much from the beginning needs no staging.
  int64_t DirectBytes(const void* address, int64_t bytes) const;
  TierError NoMemory() const;

  const std::unique_ptr<SwapFile> file_;
  StagingBuffers staging_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_STAGED_FILE_H_
