// SPDX-License-Identifier: Apache-2.0
//
// The allocator's part of the C interface.
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/allocator/arena_allocator.h"
#include "cc/allocator/arenas.h"
#include "cc/capi/capi.h"
#include "cc/core/json.h"
#include "cc/device/sim_machine.h"
#include "cc/pool/pool.h"
#include "cc/pool/transfer_stats.h"
#include "tensorflow/core/framework/types.h"

// The wheel's headers do not tell their release, so the build must.
#ifndef SN_TF_TENSORFLOW_VERSION
#error \
    "Pass -DSN_TF_TENSORFLOW_VERSION=\"x.y.z\": tf.__version__ of the headers."
#endif

namespace sn_tf {
namespace {

char* CopyToC(const std::string& text) { return strdup(text.c_str()); }

// The arena of `device`, or nullptr where the device is unknown.
ArenaAllocator* ArenaOf(const char* device) {
  return device == nullptr ? CpuArena() : FindArena(device);
}

const char* NameOf(AllocationEvent::Kind kind) {
  switch (kind) {
    case AllocationEvent::Kind::kAllocate:
      return "alloc";
    case AllocationEvent::Kind::kFree:
      return "free";
    case AllocationEvent::Kind::kRefused:
      return "refused";
  }
  return "";
}

const char* NameOf(AllocationEvent::Region region) {
  switch (region) {
    case AllocationEvent::Region::kOutput:
      return "output";
    case AllocationEvent::Region::kTemp:
      return "temp";
    case AllocationEvent::Region::kPersistent:
      return "persistent";
    case AllocationEvent::Region::kOther:
      return "other";
  }
  return "other";
}

// Empty where TensorFlow did not say.
std::string NameOfType(int32_t dtype) {
  if (dtype == tensorflow::DT_INVALID) return "";
  return tensorflow::DataTypeString(static_cast<tensorflow::DataType>(dtype));
}

void WriteSim(const SimUnit& sim, JsonWriter* json) {
  const PacedLink& link = sim.link;
  json->Key("memory_bytes").Int(sim.memory.range_bytes());
  json->Key("link");
  const TransferQueueStats in = link.to_device.stats();
  const TransferQueueStats out = link.to_host.stats();
  json->BeginObject();
  json->Key("name").String(link.model.name);
  json->Key("to_device_bytes").Int(in.bytes);
  json->Key("to_device_seconds").Double(in.seconds);
  json->Key("to_device_modelled_seconds")
      .Double(link.to_device.modelled_seconds());
  json->Key("to_host_bytes").Int(out.bytes);
  json->Key("to_host_seconds").Double(out.seconds);
  json->Key("to_host_modelled_seconds").Double(link.to_host.modelled_seconds());
  json->Key("stall_seconds").Double(link.stalls.seconds());
  json->Key("elapsed_seconds").Double(link.AgeSeconds());
  json->Key("bandwidth_bytes_per_s").Double(link.model.pinned_bytes_per_s);
  json->EndObject();
}

void WriteTiers(const std::vector<PoolTierStats>& tiers, JsonWriter* json) {
  json->Key("tiers");
  json->BeginArray();
  for (const PoolTierStats& tier : tiers) {
    json->BeginObject();
    json->Key("name").String(tier.name);
    json->Key("folder").String(tier.folder);
    json->Key("warning").String(tier.warning);
    json->Key("limit_bytes").Int(tier.usage.limit_bytes);
    json->Key("taken_bytes").Int(tier.usage.taken_bytes);
    json->Key("stored_bytes").Int(tier.usage.stored_bytes);
    json->Key("write_bytes_per_s").Double(tier.bandwidth.write_bytes_per_s);
    json->Key("read_bytes_per_s").Double(tier.bandwidth.read_bytes_per_s);
    json->Key("out_bytes").Int(tier.out_bytes);
    json->Key("in_bytes").Int(tier.in_bytes);
    json->Key("out_taken_bytes").Int(tier.out_taken_bytes);
    json->Key("out_seconds").Double(tier.out_seconds);
    json->Key("in_seconds").Double(tier.in_seconds);
    json->Key("faults").Int(tier.faults);
    json->Key("broken").Bool(tier.broken);
    json->EndObject();
  }
  json->EndArray();
}

std::string StatsJson(const ArenaAllocatorStats& memory,
                      const TransferStats& transfers, bool is_cpu,
                      const SimUnit* sim) {
  JsonWriter json;
  json.BeginObject();
  json.Key("in_use_bytes").Int(memory.arena.in_use_bytes);
  json.Key("peak_bytes").Int(memory.arena.peak_bytes);
  json.Key("resident_bytes").Int(memory.resident_bytes);
  json.Key("budget_bytes").Int(memory.budget_bytes);
  json.Key("high_water_bytes").Int(memory.arena.high_water_bytes);
  json.Key("largest_free_bytes").Int(memory.arena.largest_free_bytes);
  json.Key("allocations").Int(memory.arena.allocations);
  json.Key("fragmentation").Double(memory.arena.fragmentation());
  json.Key("swapped_out_bytes").Int(transfers.swapped_out_bytes);
  json.Key("swapped_in_bytes").Int(transfers.swapped_in_bytes);
  json.Key("host_tier_in_use_bytes").Int(transfers.host_in_use_bytes);
  json.Key("evictions").Int(transfers.cache.evictions);
  json.Key("cache_hits").Int(transfers.cache.hits);
  json.Key("cache_misses").Int(transfers.cache.misses);
  json.Key("stall_seconds").Double(transfers.stall_seconds);
  json.Key("state_outside_bytes").Int(memory.state_outside_bytes);
  if (sim != nullptr) WriteSim(*sim, &json);
  if (is_cpu) WriteTiers(AllTierStats(), &json);
  json.EndObject();
  return json.text();
}

std::string TraceJson(const std::vector<AllocationEvent>& events) {
  JsonWriter json;
  json.BeginArray();
  for (const AllocationEvent& event : events) {
    json.BeginObject();
    json.Key("time_ns").Int(event.time_ns);
    json.Key("step_id").Int(event.step_id);
    json.Key("op").String(event.op);
    json.Key("region").String(NameOf(event.region));
    json.Key("dtype").String(NameOfType(event.dtype));
    json.Key("shape").String(event.shape);
    json.Key("bytes").Int(event.bytes);
    json.Key("id").Int(static_cast<int64_t>(event.id));
    json.Key("offset").Int(event.offset);
    json.Key("event").String(NameOf(event.kind));
    json.EndObject();
  }
  json.EndArray();
  return json.text();
}

std::string BlocksJson(const Arena& arena) {
  JsonWriter json;
  json.BeginArray();
  for (const Arena::Block& block : arena.Blocks()) {
    json.BeginArray();
    json.Int(block.offset);
    json.Int(block.bytes);
    json.EndArray();
  }
  json.EndArray();
  return json.text();
}

}  // namespace
}  // namespace sn_tf

extern "C" {

void SnTfFreeString(char* text) { std::free(text); }

const char* SnTfCompiledVersion() { return SN_TF_TENSORFLOW_VERSION; }

int SnTfInstallAllocator() { return sn_tf::InstallCpuArena() ? 1 : 0; }

char* SnTfStats(const char* device) {
  sn_tf::ArenaAllocator* const arena = sn_tf::ArenaOf(device);
  if (arena == nullptr) return nullptr;
  const bool is_cpu = arena == sn_tf::CpuArena();
  sn_tf::TransferStats transfers =
      is_cpu ? sn_tf::CpuTransferStats() : sn_tf::DeviceTransferStats(device);
  const sn_tf::SimUnit* const sim =
      is_cpu ? nullptr : sn_tf::FindSimUnit(device);
  if (sim != nullptr) {
    transfers.stall_seconds = sim->link.to_host.progress().wait_seconds();
  }
  return sn_tf::CopyToC(
      sn_tf::StatsJson(arena->stats(), transfers, is_cpu, sim));
}

void SnTfResetPeak(const char* device) {
  sn_tf::ArenaAllocator* const arena = sn_tf::ArenaOf(device);
  if (arena != nullptr) arena->ResetPeak();
}

char* SnTfSetBudget(const char* device, int64_t bytes) {
  sn_tf::ArenaAllocator* const arena = sn_tf::ArenaOf(device);
  if (arena == nullptr) {
    return sn_tf::CopyToC(
        absl::StrCat("No arena manages the device. Received: \"", device,
                     "\". Known devices: \"CPU:0\" and those that "
                     "sn_tf.sim.configure() made."));
  }
  const std::string refused = arena->SetBudget(bytes);
  return refused.empty() ? nullptr : sn_tf::CopyToC(refused);
}

char* SnTfLastOom(const char* device) {
  sn_tf::ArenaAllocator* const arena = sn_tf::ArenaOf(device);
  if (arena == nullptr) return nullptr;
  const sn_tf::RefusalLog::Latest latest = arena->refusal_log()->latest();
  if (latest.number == 0) return nullptr;
  sn_tf::JsonWriter json;
  json.BeginObject();
  json.Key("number").Int(latest.number);
  json.Key("message").String(latest.message);
  json.EndObject();
  return sn_tf::CopyToC(json.text());
}

void SnTfTraceStart(const char* device) {
  sn_tf::ArenaAllocator* const arena = sn_tf::ArenaOf(device);
  if (arena != nullptr) arena->StartTrace();
}

void SnTfOpenSink(const char* device) {
  sn_tf::ArenaAllocator* const arena = sn_tf::ArenaOf(device);
  if (arena != nullptr) arena->OpenSink(sn_tf::RefusalSink::kAnyStep);
}

char* SnTfCloseSink(const char* device) {
  sn_tf::ArenaAllocator* const arena = sn_tf::ArenaOf(device);
  if (arena == nullptr) return nullptr;
  const auto refusal = arena->CloseSink(sn_tf::RefusalSink::kAnyStep);
  if (!refusal.has_value()) return nullptr;
  sn_tf::JsonWriter json;
  json.BeginObject();
  json.Key("op").String(refusal->op);
  json.Key("bytes").Int(refusal->bytes);
  json.Key("in_use_bytes").Int(refusal->in_use_bytes);
  json.Key("budget_bytes").Int(refusal->budget_bytes);
  json.EndObject();
  return sn_tf::CopyToC(json.text());
}

char* SnTfMakeTiers(const char* tiers, const char* swap_dir) {
  std::string error;
  const sn_tf::UnifiedPool* const pool =
      sn_tf::FindPool(tiers, swap_dir, &error);
  sn_tf::JsonWriter json;
  json.BeginObject();
  json.Key("error").String(error);
  if (pool == nullptr) {
    sn_tf::WriteTiers({}, &json);
  } else {
    sn_tf::WriteTiers(pool->stats(), &json);
  }
  json.EndObject();
  return sn_tf::CopyToC(json.text());
}

char* SnTfSimConfigure(int count, int64_t memory_bytes, const char* link) {
  const std::string error =
      sn_tf::ConfigureSim({count, memory_bytes, link == nullptr ? "" : link});
  return error.empty() ? nullptr : sn_tf::CopyToC(error);
}

int SnTfSimCount() { return sn_tf::SimUnitCount(); }

char* SnTfTraceStop(const char* device) {
  sn_tf::ArenaAllocator* const arena = sn_tf::ArenaOf(device);
  if (arena == nullptr) return nullptr;
  return sn_tf::CopyToC(sn_tf::TraceJson(arena->StopTrace()));
}

char* SnTfBlocks(const char* device) {
  const sn_tf::ArenaAllocator* const arena = sn_tf::ArenaOf(device);
  if (arena == nullptr) return nullptr;
  return sn_tf::CopyToC(sn_tf::BlocksJson(arena->Snapshot()));
}

}  // extern "C"
