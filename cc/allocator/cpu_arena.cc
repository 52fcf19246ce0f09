// SPDX-License-Identifier: Apache-2.0
//
// The CPU arena, and how TensorFlow gets to use it.
#include <algorithm>
#include <vector>

#include "cc/allocator/arena_allocator.h"
#include "cc/core/address_range.h"
#include "xla/tsl/framework/allocator.h"
#include "xla/tsl/framework/allocator_registry.h"
#include "xla/tsl/platform/logging.h"

namespace sn_tf {
namespace {

// TensorFlow's own factories register at 100 (default) and 200 (MKL).
constexpr int kPriority = 300;

// What TensorFlow owns in place of the arena, which outlives it.
class CpuArenaHandle : public tsl::AllocatorWrapper {
 public:
  CpuArenaHandle() : tsl::AllocatorWrapper(CpuArena()) {}

  std::optional<tsl::AllocatorStats> GetStats() override {
    return wrapped()->GetStats();
  }
  bool ClearStats() override { return wrapped()->ClearStats(); }
};

// The arena as the source of a pool that TensorFlow puts on top of it, as it
// does when a device or NUMA asks for registered host memory.
class CpuArenaSubAllocator : public tsl::SubAllocator {
 public:
  explicit CpuArenaSubAllocator(int numa_node)
      : tsl::SubAllocator({}, {}), numa_node_(numa_node) {}

  void* Alloc(size_t alignment, size_t num_bytes,
              size_t* bytes_received) override {
    void* const block = CpuArena()->AllocateRaw(alignment, num_bytes);
    *bytes_received = block == nullptr ? 0 : num_bytes;
    if (block != nullptr) VisitAlloc(block, numa_node_, num_bytes);
    return block;
  }

  void Free(void* ptr, size_t num_bytes) override {
    if (ptr == nullptr) return;
    VisitFree(ptr, numa_node_, num_bytes);
    CpuArena()->DeallocateRaw(ptr);
  }

  // Neighbouring blocks are blocks of their own and must be freed as such.
  bool SupportsCoalescing() const override { return false; }

  tsl::AllocatorMemoryType GetMemoryType() const override {
    return tsl::AllocatorMemoryType::kHostPageable;
  }

 private:
  const int numa_node_;
};

class CpuArenaFactory : public tsl::AllocatorFactory {
 public:
  tsl::Allocator* CreateAllocator() override { return new CpuArenaHandle(); }

  tsl::SubAllocator* CreateSubAllocator(int numa_node) override {
    return new CpuArenaSubAllocator(numa_node);
  }
};

using Registry = tsl::AllocatorFactoryRegistry;

// The registry ends the process when an allocator comes after the first
// allocation, and tells nobody whether that has been made. An explicit
// instantiation may name a private member.
bool HasAllocated(const Registry& registry);
template <bool Registry::*first_alloc_made>
struct Reveal {
  friend bool HasAllocated(const Registry& registry) {
    return registry.*first_alloc_made;
  }
};
template struct Reveal<&Registry::first_alloc_made_>;

}  // namespace

ArenaAllocator* CpuArena() {
  static ArenaAllocator* const arena = new ArenaAllocator(
      "sn_tf_cpu",
      std::max(8 * AddressRange::PhysicalMemoryBytes(), int64_t{256} << 30));
  return arena;
}

bool InstallCpuArena() {
  static const bool installed = [] {
    Registry* const registry = Registry::singleton();
    if (HasAllocated(*registry)) return false;
    registry->Register(__FILE__, __LINE__, "SuperNeurons", kPriority,
                       new CpuArenaFactory());
    return true;
  }();
  return installed;
}

}  // namespace sn_tf
