// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/step_profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace sn_tf {
namespace {

// What some ops have allocated, together.
class HeldBytes {
 public:
  void Allocate(const AllocationEvent& event) {
    held_ += event.bytes;
    most_ = std::max(most_, held_);
    live_.insert(event.id);
  }

  void Free(const AllocationEvent& event) {
    if (live_.erase(event.id) > 0) held_ -= event.bytes;
  }

  int64_t most() const { return most_; }

 private:
  int64_t held_ = 0;  // Now.
  int64_t most_ = 0;
  std::unordered_set<uint64_t> live_;
};

}  // namespace

StepProfile Grown(StepProfile profile, double growth, int64_t begin_bytes) {
  const auto grow = [growth](int64_t bytes) {
    return static_cast<int64_t>(std::ceil(static_cast<double>(bytes) * growth));
  };
  for (auto& [op, bytes] : profile.workspace_bytes) bytes = grow(bytes);
  profile.interior_bytes = grow(profile.interior_bytes);
  for (auto& [op, outputs] : profile.output_bytes) {
    for (int64_t& bytes : outputs) bytes = grow(bytes);
  }
  const int64_t of_step = grow(profile.peak_bytes - profile.begin_bytes);
  profile.begin_bytes = std::max(profile.begin_bytes, begin_bytes);
  profile.peak_bytes = profile.begin_bytes + of_step;
  profile.scaled = true;
  return profile;
}

StepProfile DigestTrace(const std::vector<AllocationEvent>& events,
                        int64_t step_id, int64_t begin_bytes,
                        const std::set<std::string>& interior) {
  using Kind = AllocationEvent::Kind;
  StepProfile profile;
  profile.begin_bytes = profile.peak_bytes = begin_bytes;
  int64_t in_use = begin_bytes;
  std::map<std::string, int64_t> temporary;         // Held now, per op.
  std::unordered_map<uint64_t, std::string> op_of;  // Of live temporaries.
  // Temporary memory that outlives the step is some variable's now.
  std::map<uint64_t, int64_t> kept;
  HeldBytes inside;
  std::multiset<int64_t> freed_before;  // Allocated before the trace began.
  for (const AllocationEvent& event : events) {
    if (event.kind == Kind::kFree) {
      in_use -= event.bytes;
      inside.Free(event);
      if (event.id == 0) freed_before.insert(event.bytes);
      kept.erase(event.id);
      const auto found = op_of.find(event.id);
      if (found != op_of.end()) {
        temporary[found->second] -= event.bytes;
        op_of.erase(found);
      }
      continue;
    }
    // What was refused was needed as much as what was not.
    const bool taken = event.kind == Kind::kAllocate;
    if (!taken && event.step_id == step_id) profile.complete = false;
    // What the tensor cache kept for as long as there was room was not needed.
    profile.peak_bytes = std::max(profile.peak_bytes,
                                  in_use + event.bytes - event.evictable_bytes);
    if (taken) in_use += event.bytes;
    if (event.step_id != step_id || event.op.empty()) continue;
    if (taken && interior.count(event.op) > 0) inside.Allocate(event);
    if (event.region == AllocationEvent::Region::kOutput && taken) {
      profile.output_bytes[event.op].push_back(event.bytes);
    } else if (event.region == AllocationEvent::Region::kTemp) {
      int64_t& held = temporary[event.op];
      int64_t& workspace = profile.workspace_bytes[event.op];
      workspace = std::max(workspace, held + event.bytes);
      if (!taken) continue;
      held += event.bytes;
      op_of[event.id] = event.op;
      kept[event.id] = event.bytes;
    }
  }
  profile.interior_bytes = inside.most();
  for (const auto& [id, bytes] : kept) {
    // Most often it took the place of what the variable held before.
    const auto old = freed_before.find(bytes);
    if (old != freed_before.end()) {
      freed_before.erase(old);
    } else {
      profile.kept_bytes += bytes;
    }
  }
  return profile;
}

}  // namespace sn_tf
