// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_TRANSFER_STATS_H_
#define SN_TF_CC_POOL_TRANSFER_STATS_H_

#include <cstdint>
#include <string_view>

#include "cc/pool/tensor_cache.h"

namespace sn_tf {

// What was swapped since the process began.
struct TransferStats {
  int64_t swapped_out_bytes = 0;
  int64_t swapped_in_bytes = 0;
  int64_t host_in_use_bytes = 0;  // Stored in host memory now.
  TensorCacheStats cache;
  double stall_seconds = 0;  // Time in which ops or allocations waited for
                             // copies.
};

// Between the CPU's arena and its tiers.
TransferStats CpuTransferStats();

// By the accelerator of that name. Who waited for its copies is not known here.
TransferStats DeviceTransferStats(std::string_view device);

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_TRANSFER_STATS_H_
