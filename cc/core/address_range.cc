// SPDX-License-Identifier: Apache-2.0
#include "cc/core/address_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace sn_tf {
namespace {

void* Map(int64_t bytes) {
  void* const mapping =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapping == MAP_FAILED ? nullptr : mapping;
}

bool CanMap(int64_t bytes) {
  void* const mapping = Map(bytes);
  if (mapping != nullptr) munmap(mapping, static_cast<size_t>(bytes));
  return mapping != nullptr;
}

}  // namespace

AddressRange::AddressRange(int64_t wanted_bytes, int64_t least_bytes) {
  for (int64_t bytes = wanted_bytes; bytes > 0 && bytes >= least_bytes;
       bytes /= 2) {
    mapping_bytes_ = bytes + kBaseAlignmentBytes;
    mapping_ = Map(mapping_bytes_);
    if (mapping_ == nullptr) continue;
    if (bytes < wanted_bytes && !CanMap(bytes / 2)) {
      munmap(mapping_, static_cast<size_t>(mapping_bytes_));
      mapping_ = nullptr;
      continue;
    }
    const auto address = reinterpret_cast<uintptr_t>(mapping_);
    const uintptr_t alignment = kBaseAlignmentBytes;
    base_ = static_cast<char*>(mapping_) + (-address & (alignment - 1));
    bytes_ = bytes;
    return;
  }
}

AddressRange::~AddressRange() {
  if (mapping_ != nullptr) {
    munmap(mapping_, static_cast<size_t>(mapping_bytes_));
  }
}

bool AddressRange::Decommit(int64_t offset, int64_t bytes) {
  const int64_t page = PageBytes();
  const int64_t begin = (offset + page - 1) & -page;
  const int64_t end = std::min(offset + bytes, bytes_) & -page;
  if (begin >= end) return true;
  return madvise(base_ + begin, static_cast<size_t>(end - begin),
                 MADV_DONTNEED) == 0;
}

int64_t AddressRange::PageBytes() {
  static const int64_t page = sysconf(_SC_PAGESIZE);
  return page;
}

int64_t AddressRange::PhysicalMemoryBytes() {
  return sysconf(_SC_PHYS_PAGES) * PageBytes();
}

}  // namespace sn_tf
