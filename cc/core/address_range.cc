// SPDX-License-Identifier: Apache-2.0
#include "cc/core/address_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace sn_tf {
namespace {

constexpr char kHugePages[] = "/sys/kernel/mm/transparent_hugepage/";

// Of a huge page, where the system gives them to who asks; else 0. A setting
// of the process alone (prctl) is not seen: its pages are then taken for
// larger than they are, which harms nothing.
int64_t HugePageBytes() {
  std::ifstream enabled(std::string(kHugePages) + "enabled");
  std::string word;
  while (enabled >> word && word[0] != '[') continue;
  if (!enabled || word == "[never]") return 0;
  int64_t bytes = 0;
  std::ifstream(std::string(kHugePages) + "hpage_pmd_size") >> bytes;
  return bytes;
}

// Asks for huge pages in `mapping`; returns the unit that follows.
int64_t AdviseHugePages(const AlignedMapping& mapping) {
  static const int64_t huge = HugePageBytes();
  // Larger ones, of systems whose pages are large, would keep too much.
  const bool advised =
      huge > 0 && huge <= AlignedMapping::kAlignmentBytes &&
      mapping.bytes() >= huge &&
      madvise(mapping.base(), static_cast<size_t>(mapping.bytes()),
              MADV_HUGEPAGE) == 0;
  return advised ? huge : AddressRange::PageBytes();
}

}  // namespace

AddressRange::AddressRange(int64_t wanted_bytes, int64_t least_bytes)
    : unit_bytes_(PageBytes()) {
  for (int64_t bytes = wanted_bytes; bytes > 0 && bytes >= least_bytes;
       bytes /= 2) {
    mapping_ = AlignedMapping(bytes);
    if (mapping_.base() == nullptr) continue;
    if (bytes == wanted_bytes || AlignedMapping(bytes / 2).base() != nullptr) {
      unit_bytes_ = AdviseHugePages(mapping_);
      return;
    }
    mapping_ = AlignedMapping();
  }
}

bool AddressRange::Decommit(int64_t offset, int64_t bytes) {
  const int64_t begin = (offset + unit_bytes_ - 1) & -unit_bytes_;
  const int64_t end = std::min(offset + bytes, this->bytes()) & -unit_bytes_;
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
