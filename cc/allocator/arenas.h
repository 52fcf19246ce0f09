// SPDX-License-Identifier: Apache-2.0
//
// The arenas of this process, by the device whose memory they manage.
#ifndef SN_TF_CC_ALLOCATOR_ARENAS_H_
#define SN_TF_CC_ALLOCATOR_ARENAS_H_

#include <string_view>

#include "cc/allocator/arena_allocator.h"

namespace sn_tf {

inline constexpr std::string_view kCpuDevice = "CPU:0";

// The arena of a device such as "CPU:0", or nullptr where none manages it.
// Thread-safe.
ArenaAllocator* FindArena(std::string_view device);

// Makes `arena`, which is never destroyed, that of `device`. Thread-safe.
void AddArena(std::string_view device, ArenaAllocator* arena);

}  // namespace sn_tf

#endif  // SN_TF_CC_ALLOCATOR_ARENAS_H_
