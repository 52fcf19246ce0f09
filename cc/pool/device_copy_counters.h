// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_DEVICE_COPY_COUNTERS_H_
#define SN_TF_CC_POOL_DEVICE_COPY_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace sn_tf {

// Counts transfers that no TransferQueue of ours makes. Thread-safe.
struct DeviceCopyCounters {
  std::atomic<int64_t> out_bytes{0};     // Copied out of devices, ever.
  std::atomic<int64_t> in_bytes{0};      // Copied back, ever.
  std::atomic<int64_t> stored_bytes{0};  // Held in pinned memory now.
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_DEVICE_COPY_COUNTERS_H_
