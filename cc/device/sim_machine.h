// SPDX-License-Identifier: Apache-2.0
//
// The simulated accelerators of this process: their memory and their links.
// TensorFlow's devices come and go with its contexts and sessions; what is
// here is made once and never destroyed, because tensors may outlive devices.
#ifndef SN_TF_CC_DEVICE_SIM_MACHINE_H_
#define SN_TF_CC_DEVICE_SIM_MACHINE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cc/allocator/arena_allocator.h"
#include "cc/pool/paced_queue.h"
#include "cc/pool/tensor_cache.h"

namespace sn_tf {

struct SimOptions {
  int count = 1;
  int64_t memory_bytes = 0;  // Of each.
  std::string link;          // See ParseLinkModel.
};

// One accelerator. Its memory is a range of fixed size: what is fragmented
// there cannot be extended elsewhere.
struct SimUnit {
  SimUnit(int index, int64_t memory_bytes, const LinkModel& model);

  const int index;
  ArenaAllocator memory;
  PacedLink link;
  TensorCache cache{&link.to_host.progress()};
};

// Makes the accelerators. Returns an empty string, or why not: options that
// make no sense, others made before, or TensorFlow has started without them.
// Again with the same options it does nothing.
std::string ConfigureSim(const SimOptions& options);

// How many there are: 0 unless configured.
int SimUnitCount();

// nullptr unless 0 <= index < SimUnitCount().
SimUnit* FindSimUnit(int index);

// Of a device name such as "SIM:0"; nullptr where there is none of that name.
SimUnit* FindSimUnit(std::string_view device);

// Host memory that the accelerators copy from and to at full speed.
ArenaAllocator* SimPinnedMemory();

// Tells that TensorFlow has made its devices.
void MarkTensorFlowStarted();

}  // namespace sn_tf

#endif  // SN_TF_CC_DEVICE_SIM_MACHINE_H_
