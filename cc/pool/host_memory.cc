// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/host_memory.h"

#include <algorithm>
#include <string>

#include "cc/core/bytes.h"

namespace sn_tf {
namespace {

// A cache line, as Arena's default.
constexpr int64_t kAlignmentBytes = 64;

int64_t WantedBytes(int64_t limit_bytes) {
  if (limit_bytes > 0) return limit_bytes;
  // More addresses than memory, so that free ones in pieces do not matter.
  return std::max(2 * AddressRange::PhysicalMemoryBytes(), int64_t{64} << 30);
}

}  // namespace

HostMemory::HostMemory(const char* tier, int64_t limit_bytes)
    : tier_(tier),
      wanted_bytes_(WantedBytes(limit_bytes)),
      range_(wanted_bytes_, /*least_bytes=*/1),
      arena_(range_.bytes(), kAlignmentBytes) {}

TierError HostMemory::Refusal(int64_t bytes) const {
  const std::string begin = "The " + std::string(tier_) +
                            " tier has no room for a buffer of " +
                            FormatBytes(bytes) + ": " +
                            FormatBytes(arena_.in_use_bytes()) + " of its ";
  if (range_.bytes() < wanted_bytes_) {
    return TierError(
        TierError::Kind::kFull,
        begin + FormatBytes(range_.bytes()) +
            " of addresses are in use. Raise the process's limit of address "
            "space (ulimit -v), or the budget, so that less is swapped out.");
  }
  return TierError(
      TierError::Kind::kFull,
      begin + FormatBytes(limit_bytes()) +
          " are in use, and the largest free piece has " +
          FormatBytes(arena_.largest_free_bytes()) + ". Raise its limit (" +
          tier_ +
          ":SIZE), add another tier after it, or raise the budget, so that "
          "less is swapped out.");
}

void HostMemory::ReleaseFree() {
  arena_.ReleaseFree(range_.unit_bytes(),
                     [this](int64_t offset, int64_t bytes) {
                       range_.Decommit(offset, bytes);
                     });
}

}  // namespace sn_tf
