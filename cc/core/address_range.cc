// SPDX-License-Identifier: Apache-2.0
#include "cc/core/address_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace sn_tf {
AddressRange::AddressRange(int64_t wanted_bytes, int64_t least_bytes) {
  for (int64_t bytes = wanted_bytes; bytes > 0 && bytes >= least_bytes;
       bytes /= 2) {
    mapping_ = AlignedMapping(bytes);
    if (mapping_.base() == nullptr) continue;
    if (bytes == wanted_bytes || AlignedMapping(bytes / 2).base() != nullptr) {
      return;
    }
    mapping_ = AlignedMapping();
  }
}

bool AddressRange::Decommit(int64_t offset, int64_t bytes) {
  const int64_t page = PageBytes();
  const int64_t begin = (offset + page - 1) & -page;
  const int64_t end = std::min(offset + bytes, this->bytes()) & -page;
  if (begin >= end) return true;
  return madvise(base() + begin, static_cast<size_t>(end - begin),
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
