// SPDX-License-Identifier: Apache-2.0
//
// The process's tiers and links. They are made on first use and never
// destroyed: a step may still be copying while the process exits.
#ifndef SN_TF_CC_POOL_POOL_H_
#define SN_TF_CC_POOL_POOL_H_

#include <string_view>

#include "cc/pool/device_copy_counters.h"
#include "cc/pool/host_tier.h"
#include "cc/pool/link.h"
#include "cc/pool/tier.h"

namespace sn_tf {

// Between the CPU's arena and the host tier.
Link& HostLink();

HostTier& HostTierInstance();

// Copies that the accelerator of that name ("GPU:0") makes by itself, to and
// from pinned memory. Thread-safe.
DeviceCopyCounters& DeviceCopies(std::string_view device);

// The tier that the attribute `tier` of a swap op names: "host". nullptr for
// any other name.
Tier* FindTier(std::string_view name);

// Waits until a copy out of the CPU's arena has finished. Returns false where
// none is left: waiting longer makes no room.
bool WaitForSwapOut();

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_POOL_H_
