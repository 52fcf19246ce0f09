// SPDX-License-Identifier: Apache-2.0
//
// The process's pools and what moves between a device and its pools. They are
// made on first use and never destroyed: a step may still be copying while the
// process exits.
#ifndef SN_TF_CC_POOL_POOL_H_
#define SN_TF_CC_POOL_POOL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cc/pool/device_copy_counters.h"
#include "cc/pool/stall_meter.h"
#include "cc/pool/tensor_cache.h"
#include "cc/pool/transfer_progress.h"
#include "cc/pool/unified_pool.h"

namespace sn_tf {

// What leaves the CPU's arena.
struct Traffic {
  TransferProgress leaving;
  TensorCache cache{&leaving};
  StallMeter stalls;
};
Traffic& CpuTraffic();

// The tensor cache of that device ("CPU:0"), or nullptr where nobody tells when
// its memory is short. AddCache makes `cache`, which is never destroyed, that
// of `device`. Thread-safe.
TensorCache* FindCache(std::string_view device);
void AddCache(std::string_view device, TensorCache* cache);

// The pool of `tiers` (see tier_spec.h), made on first use; files are in
// `swap_dir`, or where that is empty in the system's folder for temporary
// files. nullptr, and `*error`, where that cannot be. Thread-safe.
UnifiedPool* FindPool(const std::string& tiers, const std::string& swap_dir,
                      std::string* error);

// Of the tiers of all pools.
std::vector<PoolTierStats> AllTierStats();

// Gives what the tiers do not use back to the system.
void ReleaseFreeTierSpace();

// Copies that the accelerator of that name ("GPU:0") makes by itself, to and
// from pinned memory. Thread-safe.
DeviceCopyCounters& DeviceCopies(std::string_view device);

// An allocation of `bytes` found no room in the CPU's arena: waits until a copy
// out of it has ended. False where waiting makes no room.
bool MakeRoomOnCpu(int64_t bytes);

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_POOL_H_
