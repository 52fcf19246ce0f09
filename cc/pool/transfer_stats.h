// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_TRANSFER_STATS_H_
#define SN_TF_CC_POOL_TRANSFER_STATS_H_

#include <cstdint>

namespace sn_tf {

// Counters of the pool since the process began.
struct TransferStats {
  int64_t swapped_out_bytes = 0;
  int64_t swapped_in_bytes = 0;
  int64_t host_in_use_bytes = 0;  // Stored on the host tier now.
  int64_t evictions = 0;          // Buffers moved under memory pressure.
  double stall_seconds = 0;       // Time that allocations waited for copies.
};

TransferStats PoolStats();

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_TRANSFER_STATS_H_
