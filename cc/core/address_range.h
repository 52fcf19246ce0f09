// SPDX-License-Identifier: Apache-2.0
//
// A reserved range of virtual addresses. Reserving takes no memory: pages
// become resident when first touched, and stop being so when decommitted.
// Transparent huge pages are not asked for: training gains nothing measurable,
// and what is resident would no longer be what was touched.
#ifndef SN_TF_CC_CORE_ADDRESS_RANGE_H_
#define SN_TF_CC_CORE_ADDRESS_RANGE_H_

#include <cstdint>

namespace sn_tf {

class AddressRange {
 public:
  // What base() is aligned to.
  static constexpr int64_t kBaseAlignmentBytes = int64_t{2} << 20;

  // Reserves `wanted_bytes`, or where the system refuses (a limit on the
  // address space, strict overcommit), the largest halving of it that leaves
  // at least half as much again for the rest of the process. bytes() is 0
  // when not even `least_bytes` could be had.
  AddressRange(int64_t wanted_bytes, int64_t least_bytes);
  ~AddressRange();

  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  char* base() const { return base_; }
  int64_t bytes() const { return bytes_; }
  bool Contains(const void* address) const {
    return address >= base_ && address < base_ + bytes_;
  }

  // Gives the whole pages within [offset, offset + bytes) back to the system;
  // they read as zero when touched again. Returns false, and the pages stay,
  // where the system refuses (locked memory).
  bool Decommit(int64_t offset, int64_t bytes);

  static int64_t PageBytes();
  static int64_t PhysicalMemoryBytes();

 private:
  void* mapping_ = nullptr;  // base_, before it was aligned.
  int64_t mapping_bytes_ = 0;
  char* base_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_ADDRESS_RANGE_H_
