// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/pool.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "cc/core/address_range.h"
#include "cc/pool/transfer_stats.h"

namespace sn_tf {
namespace {

// Longer than any copy takes; only to not sleep for ever should one hang.
constexpr std::chrono::seconds kLongestWait{10};

}  // namespace

Link& HostLink() {
  static auto* const link = new Link("sn_tf");
  return *link;
}

HostTier& HostTierInstance() {
  static auto* const tier = new HostTier(
      &HostLink(),
      std::max(2 * AddressRange::PhysicalMemoryBytes(), int64_t{64} << 30));
  return *tier;
}

DeviceCopyCounters& DeviceCopies() {
  static auto* const counters = new DeviceCopyCounters();
  return *counters;
}

Tier* FindTier(std::string_view name) {
  return name == "host" ? &HostTierInstance() : nullptr;
}

bool WaitForSwapOut() {
  thread_local uint64_t seen = 0;
  return HostLink().out.WaitForProgress(&seen, kLongestWait);
}

TransferStats PoolStats() {
  const TransferQueueStats out = HostLink().out.stats();
  const TransferQueueStats in = HostLink().in.stats();
  const DeviceCopyCounters& device = DeviceCopies();
  TransferStats stats;
  stats.swapped_out_bytes = out.bytes + device.out_bytes;
  stats.swapped_in_bytes = in.bytes + device.in_bytes;
  stats.host_in_use_bytes =
      HostTierInstance().in_use_bytes() + device.stored_bytes;
  stats.stall_seconds = out.wait_seconds;
  return stats;
}

}  // namespace sn_tf
