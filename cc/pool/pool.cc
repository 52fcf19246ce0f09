// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/pool.h"

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cc/core/tier_spec.h"
#include "cc/pool/make_tier.h"
#include "cc/pool/transfer_stats.h"

namespace sn_tf {
namespace {

struct Registry {
  std::mutex mutex;
  // By the tiers and the folder.
  std::map<std::pair<std::string, std::string>, std::unique_ptr<UnifiedPool>>
      pools;
  std::map<std::string, TensorCache*, std::less<>> caches;
  std::map<std::string, DeviceCopyCounters, std::less<>> counters;
};

Registry& All() {
  static auto* const registry = new Registry();
  return *registry;
}

}  // namespace

Traffic& CpuTraffic() {
  static auto* const traffic = new Traffic();
  return *traffic;
}

TensorCache* FindCache(std::string_view device) {
  if (device == "CPU:0") return &CpuTraffic().cache;
  std::lock_guard<std::mutex> lock(All().mutex);
  const auto found = All().caches.find(device);
  return found == All().caches.end() ? nullptr : found->second;
}

void AddCache(std::string_view device, TensorCache* cache) {
  std::lock_guard<std::mutex> lock(All().mutex);
  All().caches[std::string(device)] = cache;
}

UnifiedPool* FindPool(const std::string& tiers, const std::string& swap_dir,
                      std::string* error) {
  std::lock_guard<std::mutex> lock(All().mutex);
  std::unique_ptr<UnifiedPool>& pool = All().pools[{tiers, swap_dir}];
  if (pool != nullptr) return pool.get();
  std::vector<TierSpec> specs;
  if (!ParseTierSpecs(tiers, &specs, error)) return nullptr;
  std::vector<PoolTier> members;
  for (const TierSpec& spec : specs) {
    TierError failed;
    PoolTier member = MakeTier(spec, swap_dir, &failed);
    if (member.tier == nullptr) {
      *error = failed.message;
      return nullptr;
    }
    members.push_back(std::move(member));
  }
  pool =
      std::make_unique<UnifiedPool>(std::move(members), &CpuTraffic().leaving);
  return pool.get();
}

std::vector<PoolTierStats> AllTierStats() {
  std::vector<PoolTierStats> all;
  std::lock_guard<std::mutex> lock(All().mutex);
  for (const auto& [key, pool] : All().pools) {
    if (pool == nullptr) continue;
    for (PoolTierStats& stats : pool->stats()) all.push_back(std::move(stats));
  }
  return all;
}

void ReleaseFreeTierSpace() {
  std::lock_guard<std::mutex> lock(All().mutex);
  for (const auto& [key, pool] : All().pools) {
    if (pool != nullptr) pool->ReleaseFreeSpace();
  }
}

DeviceCopyCounters& DeviceCopies(std::string_view device) {
  std::lock_guard<std::mutex> lock(All().mutex);
  const auto found = All().counters.find(device);
  if (found != All().counters.end()) return found->second;
  return All().counters[std::string(device)];
}

bool MakeRoomOnCpu(int64_t bytes) {
  thread_local uint64_t seen = 0;
  const StallMeter::Scope waiting(&CpuTraffic().stalls);
  return CpuTraffic().cache.MakeRoom(bytes, &seen);
}

TransferStats CpuTransferStats() {
  TransferStats stats;
  for (const PoolTierStats& tier : AllTierStats()) {
    stats.swapped_out_bytes += tier.out_bytes;
    stats.swapped_in_bytes += tier.in_bytes;
    if (tier.name == "host") stats.host_in_use_bytes += tier.usage.taken_bytes;
  }
  stats.cache = CpuTraffic().cache.stats();
  stats.stall_seconds = CpuTraffic().stalls.seconds();
  return stats;
}

TransferStats DeviceTransferStats(std::string_view device) {
  const DeviceCopyCounters& copies = DeviceCopies(device);
  TransferStats stats;
  stats.swapped_out_bytes = copies.out_bytes;
  stats.swapped_in_bytes = copies.in_bytes;
  stats.host_in_use_bytes = copies.stored_bytes;
  const TensorCache* const cache = FindCache(device);
  if (cache != nullptr) stats.cache = cache->stats();
  return stats;
}

}  // namespace sn_tf
