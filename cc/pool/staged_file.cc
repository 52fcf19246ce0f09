// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/staged_file.h"

#include <cstring>

#include "cc/core/bytes.h"

namespace sn_tf {
namespace {

constexpr int64_t kBlockBytes = SwapFile::kBlockBytes;

int64_t RoundUpToBlock(int64_t bytes) {
  return (bytes + kBlockBytes - 1) & -kBlockBytes;
}

}  // namespace

TierError StagedFile::Write(int64_t offset, const void* source, int64_t bytes) {
  const auto* const from = static_cast<const char*>(source);
  const int64_t direct = DirectBytes(source, bytes);
  if (direct > 0) {
    TierError error = file_->Write(offset, from, direct);
    if (!error.ok()) return error;
  }
  const int64_t rest = bytes - direct;
  if (rest == 0) return TierError();
  const StagingBuffers::Lease staging = staging_.Acquire();
  if (staging.base() == nullptr) return NoMemory();
  const int64_t whole = RoundUpToBlock(rest);
  std::memcpy(staging.base(), from + direct, rest);
  // Nothing of other buffers goes to the disk with this one.
  std::memset(staging.base() + rest, 0, whole - rest);
  return file_->Write(offset + direct, staging.base(), whole);
}

TierError StagedFile::Read(int64_t offset, void* destination, int64_t bytes) {
  auto* const to = static_cast<char*>(destination);
  const int64_t direct = DirectBytes(destination, bytes);
  if (direct > 0) {
    TierError error = file_->Read(offset, to, direct);
    if (!error.ok()) return error;
  }
  const int64_t rest = bytes - direct;
  if (rest == 0) return TierError();
  const StagingBuffers::Lease staging = staging_.Acquire();
  if (staging.base() == nullptr) return NoMemory();
  TierError error =
      file_->Read(offset + direct, staging.base(), RoundUpToBlock(rest));
  if (error.ok()) std::memcpy(to + direct, staging.base(), rest);
  return error;
}

int64_t StagedFile::DirectBytes(const void* address, int64_t bytes) const {
  const auto alignment = static_cast<uintptr_t>(file_->memory_alignment());
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0) return 0;
  return bytes & -kBlockBytes;
}

TierError StagedFile::NoMemory() const {
  return TierError(TierError::Kind::kFailed,
                   "The file tier got no memory for a staging buffer of " +
                       FormatBytes(kChunkBytes) +
                       ". Raise the process's limit of address space (ulimit "
                       "-v), or lower the budget.");
}

}  // namespace sn_tf
