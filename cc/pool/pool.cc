// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/pool.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

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

DeviceCopyCounters& DeviceCopies(std::string_view device) {
  static auto* const mutex = new std::mutex();
  static auto* const counters =
      new std::map<std::string, DeviceCopyCounters, std::less<>>();
  std::lock_guard<std::mutex> lock(*mutex);
  const auto found = counters->find(device);
  if (found != counters->end()) return found->second;
  return (*counters)[std::string(device)];
}

Tier* FindTier(std::string_view name) {
  return name == "host" ? &HostTierInstance() : nullptr;
}

bool WaitForSwapOut() {
  thread_local uint64_t seen = 0;
  return HostLink().out.WaitForProgress(&seen, kLongestWait);
}

TransferStats CpuTransferStats() {
  const TransferQueueStats out = HostLink().out.stats();
  TransferStats stats;
  stats.swapped_out_bytes = out.bytes;
  stats.swapped_in_bytes = HostLink().in.stats().bytes;
  stats.host_in_use_bytes = HostTierInstance().in_use_bytes();
  stats.stall_seconds = out.wait_seconds;
  return stats;
}

TransferStats DeviceTransferStats(std::string_view device) {
  const DeviceCopyCounters& copies = DeviceCopies(device);
  TransferStats stats;
  stats.swapped_out_bytes = copies.out_bytes;
  stats.swapped_in_bytes = copies.in_bytes;
  stats.host_in_use_bytes = copies.stored_bytes;
  return stats;
}

}  // namespace sn_tf
