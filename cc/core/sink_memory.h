// SPDX-License-Identifier: Apache-2.0
//
// Addresses that take whatever is written and keep nothing of it.
#ifndef SN_TF_CC_CORE_SINK_MEMORY_H_
#define SN_TF_CC_CORE_SINK_MEMORY_H_

#include <cstdint>

#include "cc/core/aligned_mapping.h"

namespace sn_tf {

// The same few pages again and again: to a kernel that has to finish they look
// like memory of any size. What is read is arbitrary.
class SinkMemory {
 public:
  // What all mappings together make resident at most.
  static constexpr int64_t kBytes = int64_t{16} << 20;

  SinkMemory();
  ~SinkMemory();
  SinkMemory(const SinkMemory&) = delete;
  SinkMemory& operator=(const SinkMemory&) = delete;

  // At least `bytes` bytes, which may outlive this object. The base is nullptr
  // where the system refuses.
  AlignedMapping Map(int64_t bytes) const;

 private:
  int file_;  // -1: the system refused.
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_SINK_MEMORY_H_
