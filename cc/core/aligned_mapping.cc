// SPDX-License-Identifier: Apache-2.0
#include "cc/core/aligned_mapping.h"

#include <sys/mman.h>

namespace sn_tf {

AlignedMapping::AlignedMapping(int64_t bytes) {
  void* const mapping =
      mmap(nullptr, static_cast<size_t>(bytes + kAlignmentBytes),
           PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
           -1, 0);
  if (mapping == MAP_FAILED) return;
  const auto address = reinterpret_cast<uintptr_t>(mapping);
  const uintptr_t alignment = kAlignmentBytes;
  mapping_ = mapping;
  base_ = static_cast<char*>(mapping) + (-address & (alignment - 1));
  bytes_ = bytes;
}

AlignedMapping::~AlignedMapping() {
  if (mapping_ == nullptr) return;
  munmap(mapping_, static_cast<size_t>(bytes_ + kAlignmentBytes));
}

AlignedMapping& AlignedMapping::operator=(AlignedMapping&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace sn_tf
