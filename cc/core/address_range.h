// SPDX-License-Identifier: Apache-2.0
//
// A reserved range of virtual addresses. Reserving takes no memory: pages
// become resident when first touched, and stop being so when decommitted. Huge
// pages are asked for: steps are faster, most of all those in which memory is
// given back and touched again.
#ifndef SN_TF_CC_CORE_ADDRESS_RANGE_H_
#define SN_TF_CC_CORE_ADDRESS_RANGE_H_

#include <cstdint>

#include "cc/core/aligned_mapping.h"

namespace sn_tf {

class AddressRange {
 public:
  // What base() is aligned to.
  static constexpr int64_t kBaseAlignmentBytes =
      AlignedMapping::kAlignmentBytes;

  // Reserves `wanted_bytes`, or where the system refuses (a limit on the
  // address space, strict overcommit), the largest halving of it that leaves
  // at least half as much again for the rest of the process. bytes() is 0
  // when not even `least_bytes` could be had.
  AddressRange(int64_t wanted_bytes, int64_t least_bytes);

  char* base() const { return mapping_.base(); }
  int64_t bytes() const { return mapping_.bytes(); }
  bool Contains(const void* address) const {
    return address >= base() && address < base() + bytes();
  }

  // What becomes resident, and is decommitted, as one: a huge page where the
  // system may give some, else a page. base() is aligned to it.
  int64_t unit_bytes() const { return unit_bytes_; }

  // Gives the whole units within [offset, offset + bytes) back to the system;
  // they read as zero when touched again. Returns false, and they stay, where
  // the system refuses (locked memory).
  bool Decommit(int64_t offset, int64_t bytes);

  static int64_t PageBytes();
  static int64_t PhysicalMemoryBytes();

 private:
  AlignedMapping mapping_;
  int64_t unit_bytes_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_ADDRESS_RANGE_H_
