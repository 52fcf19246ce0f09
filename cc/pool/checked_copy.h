// SPDX-License-Identifier: Apache-2.0
//
// Copies that compute a checksum of what passes, chunk by chunk on the thread
// that copies.
#ifndef SN_TF_CC_POOL_CHECKED_COPY_H_
#define SN_TF_CC_POOL_CHECKED_COPY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "cc/pool/checksum.h"
#include "cc/pool/tier.h"

namespace sn_tf {

// The checksum of a buffer in memory, in pieces of a chunk's length.
class ChecksumPass {
 public:
  ChecksumPass(const void* data, int64_t bytes)
      : data_(static_cast<const char*>(data)), bytes_(bytes) {}

  // Goes over the next piece; true after the last one.
  bool Advance();
  uint64_t Digest() const { return checksum_.Digest(); }

 private:
  const char* data_;
  int64_t bytes_;
  int64_t position_ = 0;
  Checksum checksum_;
};

// A write whose source is summed up first.
class CheckedWrite : public TierWrite {
 public:
  CheckedWrite(std::unique_ptr<TierWrite> write, const void* source,
               int64_t bytes)
      : write_(std::move(write)), pass_(source, bytes) {}

  Progress CopyChunk(TierError* error) override;
  StoredBuffer Take() override { return write_->Take(); }
  uint64_t checksum() const { return pass_.Digest(); }

 private:
  const std::unique_ptr<TierWrite> write_;
  ChecksumPass pass_;
  bool summed_up_ = false;
};

// A read that fails with kCorrupt where what came is not what was stored.
class CheckedRead : public TierCopy {
 public:
  CheckedRead(std::unique_ptr<TierCopy> read, const void* destination,
              int64_t bytes, uint64_t expected)
      : read_(std::move(read)),
        pass_(destination, bytes),
        expected_(expected) {}

  Progress CopyChunk(TierError* error) override;

 private:
  const std::unique_ptr<TierCopy> read_;
  ChecksumPass pass_;
  const uint64_t expected_;
  bool read_all_ = false;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_CHECKED_COPY_H_
