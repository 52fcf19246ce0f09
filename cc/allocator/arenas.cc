// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/arenas.h"

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sn_tf {
namespace {

struct Arenas {
  absl::Mutex mutex;
  std::map<std::string, ArenaAllocator*, std::less<>> of ABSL_GUARDED_BY(mutex);
};

Arenas& All() {
  static auto* const arenas = new Arenas();
  return *arenas;
}

}  // namespace

ArenaAllocator* FindArena(std::string_view device) {
  if (device == kCpuDevice) return CpuArena();
  Arenas& arenas = All();
  absl::MutexLock lock(&arenas.mutex);
  const auto found = arenas.of.find(device);
  return found == arenas.of.end() ? nullptr : found->second;
}

void AddArena(std::string_view device, ArenaAllocator* arena) {
  Arenas& arenas = All();
  absl::MutexLock lock(&arenas.mutex);
  arenas.of[std::string(device)] = arena;
}

}  // namespace sn_tf
