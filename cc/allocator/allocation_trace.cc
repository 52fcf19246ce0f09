// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/allocation_trace.h"

#include <chrono>
#include <utility>

#include "tsl/profiler/lib/scoped_memory_debug_annotation.h"

namespace sn_tf {
namespace {

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

AllocationEvent::Region RegionOf(std::string_view name) {
  if (name == "output") return AllocationEvent::Region::kOutput;
  if (name == "temp") return AllocationEvent::Region::kTemp;
  if (name == "persist") return AllocationEvent::Region::kPersistent;
  return AllocationEvent::Region::kOther;
}

AllocationEvent DescribeAllocation() {
  const auto& annotation =
      tsl::profiler::ScopedMemoryDebugAnnotation::CurrentAnnotation();
  AllocationEvent event;
  event.step_id = annotation.pending_step_id;
  event.region = RegionOf(annotation.pending_region_type);
  event.op = std::string(annotation.pending_op_name);
  event.dtype = annotation.pending_data_type;
  if (annotation.pending_shape_func) {
    event.shape = annotation.pending_shape_func();
  }
  return event;
}

void AllocationTrace::Start() {
  active_ = true;
  live_ids_.clear();
  events_.clear();
}

std::vector<AllocationEvent> AllocationTrace::Stop() {
  active_ = false;
  live_ids_.clear();
  return std::exchange(events_, {});
}

void AllocationTrace::RecordAllocation(int64_t offset, int64_t bytes,
                                       AllocationEvent event) {
  event.time_ns = NowNs();
  event.id = ++last_id_;
  event.offset = offset;
  event.bytes = bytes;
  live_ids_[offset] = event.id;
  events_.push_back(std::move(event));
}

void AllocationTrace::RecordFree(int64_t offset, int64_t bytes) {
  AllocationEvent event;
  event.time_ns = NowNs();
  event.offset = offset;
  event.bytes = bytes;
  event.kind = AllocationEvent::Kind::kFree;
  if (const auto live = live_ids_.find(offset); live != live_ids_.end()) {
    event.id = live->second;
    live_ids_.erase(live);
  }
  events_.push_back(std::move(event));
}

void AllocationTrace::RecordRefusal(int64_t bytes, AllocationEvent event) {
  event.time_ns = NowNs();
  event.kind = AllocationEvent::Kind::kRefused;
  event.bytes = bytes;
  events_.push_back(std::move(event));
}

}  // namespace sn_tf
