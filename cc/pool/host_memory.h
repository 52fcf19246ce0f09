// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_HOST_MEMORY_H_
#define SN_TF_CC_POOL_HOST_MEMORY_H_

#include <cstdint>

#include "cc/core/address_range.h"
#include "cc/pool/shared_arena.h"
#include "cc/pool/tier_error.h"

namespace sn_tf {

// Memory of a tier: blocks of one reserved address range. Pages stay resident
// when their blocks are freed: faulting them in anew each step would take
// longer than the copies themselves. Thread-safe.
class HostMemory {
 public:
  // At most `limit_bytes`; 0: as much as the system allows, which ends by
  // paging or by its out-of-memory killer. Reserves addresses, and takes no
  // memory. `tier` is what messages call it.
  HostMemory(const char* tier, int64_t limit_bytes);

  // Empty where there is no room.
  SharedArena::Block Allocate(int64_t bytes) { return arena_.Allocate(bytes); }

  // kFull, for a buffer of `bytes` that found no room.
  TierError Refusal(int64_t bytes) const;

  char* At(const SharedArena::Block& block) const {
    return range_.base() + block.offset();
  }

  int64_t limit_bytes() const { return arena_.capacity_bytes(); }
  int64_t in_use_bytes() const { return arena_.in_use_bytes(); }

  // Gives the pages of free blocks back to the system.
  void ReleaseFree();

 private:
  const char* const tier_;
  const int64_t wanted_bytes_;
  AddressRange range_;
  SharedArena arena_;  // Offsets in range_.
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_HOST_MEMORY_H_
