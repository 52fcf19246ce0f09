// SPDX-License-Identifier: Apache-2.0
//
// The tier in host memory: blocks of one reserved address range.
#ifndef SN_TF_CC_POOL_HOST_TIER_H_
#define SN_TF_CC_POOL_HOST_TIER_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "cc/core/address_range.h"
#include "cc/core/arena.h"
#include "cc/pool/link.h"
#include "cc/pool/tier.h"

namespace sn_tf {

// Pages stay resident when their blocks are freed: faulting them in anew each
// step would take longer than the copies themselves.
class HostTier : public Tier {
 public:
  // Reserves up to `range_bytes` of addresses; it takes no memory. `link` must
  // outlive the tier, and the tier every transfer it began.
  HostTier(Link* link, int64_t range_bytes);

  void Store(const void* source, int64_t bytes, StoreDone done) override;
  void Load(const StoredBuffer& stored, void* destination,
            LoadDone done) override;
  int64_t in_use_bytes() const override;

  // Gives the pages of free blocks back to the system.
  void ReleaseFreePages();

 private:
  void Free(int64_t location) override;

  Link* const link_;
  AddressRange range_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  int releases_ = 0;  // Under way, holding free ranges.
  Arena arena_;       // Offsets in range_; a block's location is its offset.
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_HOST_TIER_H_
