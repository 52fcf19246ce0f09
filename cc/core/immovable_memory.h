// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_CORE_IMMOVABLE_MEMORY_H_
#define SN_TF_CC_CORE_IMMOVABLE_MEMORY_H_

#include <cstdint>
#include <string>

namespace sn_tf {

// Of the buffers that may leave a device's memory: what can make no room, and
// why.
struct ImmovableMemory {
  int64_t locked_buffers = 0;  // Ops use them.
  int64_t locked_bytes = 0;
  int64_t refused_buffers = 0;  // No tier took them.
  int64_t refused_bytes = 0;
  std::string reason;  // Of the latest refusal by the tiers.
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_IMMOVABLE_MEMORY_H_
