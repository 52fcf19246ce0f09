// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/liveness.h"

#include <algorithm>

namespace sn_tf {
namespace {

class Analysis {
 public:
  Analysis(const MemoryGraph& graph, const Schedule& schedule)
      : graph_(graph), schedule_(schedule) {
    latest_.assign(graph.buffers.size(), kNone);
    result_.resident_bytes = graph.resident_bytes;
    change_.assign(schedule.size() + 1, 0);
  }

  Liveness Run() {
    for (size_t p = 0; p < schedule_.size(); ++p) {
      Visit(static_cast<Position>(p));
    }
    Group();
    for (const Version& version : result_.versions) {
      const Buffer& buffer = graph_.buffers[version.buffer];
      if (!buffer.view) Hold(version.begin, version.end, buffer.bytes);
    }
    ShareInPlace();
    HoldOverwrittenViews();
    Accumulate();
    return std::move(result_);
  }

 private:
  void Visit(Position p) {
    const PlanItem& item = schedule_[p];
    switch (item.kind) {
      case ItemKind::kRun:
      case ItemKind::kRecompute:
        for (const BufferId b : graph_.ops[item.id].reads) Read(b, p);
        for (const BufferId b : graph_.ops[item.id].writes) Begin(b, p);
        Hold(p, p, graph_.ops[item.id].workspace_bytes);
        break;
      case ItemKind::kSwapOut:
        Read(item.id, p);
        break;
      case ItemKind::kSwapWait:
        // The copy holds the swapped version until just before this item.
        if (Version* version = Latest(item.id)) {
          version->end = std::max(version->end, p - 1);
        }
        break;
      case ItemKind::kSwapIn:
        Begin(item.id, p);
        break;
    }
  }

  Version* Latest(BufferId b) {
    return latest_[b] == kNone ? nullptr : &result_.versions[latest_[b]];
  }

  void Begin(BufferId b, Position p) {
    latest_[b] = static_cast<int32_t>(result_.versions.size());
    result_.versions.push_back({b, p, p, {}});
  }

  void Read(BufferId b, Position p) {
    if (Version* version = Latest(b)) {
      read_version_.push_back(latest_[b]);
      read_at_.push_back(p);
      version->end = std::max(version->end, p);
    }
  }

  // Fills the slices.
  void Group() {
    std::vector<Version>& versions = result_.versions;
    const std::vector<Slice> reads = GroupByKey(
        read_version_, read_at_, versions.size(), &result_.all_reads);
    std::vector<BufferId> buffer_of(versions.size());
    std::vector<int32_t> numbers(versions.size());
    for (size_t v = 0; v < versions.size(); ++v) {
      versions[v].reads = reads[v];
      buffer_of[v] = versions[v].buffer;
      numbers[v] = static_cast<int32_t>(v);
    }
    result_.of_buffer = GroupByKey(buffer_of, numbers, graph_.buffers.size(),
                                   &result_.all_versions);
  }

  void Hold(Position begin, Position end, int64_t bytes) {
    change_[begin] += bytes;
    change_[end + 1] -= bytes;
  }

  // What is written in place takes no memory beside what it was made from.
  void ShareInPlace() {
    for (size_t p = 0; p < schedule_.size(); ++p) {
      const auto at = static_cast<Position>(p);
      if (WritesInPlace(graph_, schedule_, result_, at)) {
        Hold(at, at, -graph_.InPlaceBytes(schedule_[p].id));
      }
    }
  }

  // A variable overwritten before its last view is read exists twice: all the
  // views of it share the old values.
  void HoldOverwrittenViews() {
    std::vector<Position> last_read(graph_.ops.size(), kNone);
    std::vector<int64_t> bytes(graph_.ops.size(), 0);
    for (const Version& version : result_.versions) {
      const Buffer& buffer = graph_.buffers[version.buffer];
      if (!buffer.view || buffer.overwriter == kNone) continue;
      Position& last = last_read[buffer.overwriter];
      last = std::max(last, version.end);
      bytes[buffer.overwriter] = buffer.bytes;
    }
    for (size_t p = 0; p < schedule_.size(); ++p) {
      const PlanItem& item = schedule_[p];
      if (item.kind != ItemKind::kRun) continue;
      const auto at = static_cast<Position>(p);
      if (last_read[item.id] > at) {
        Hold(at, last_read[item.id], bytes[item.id]);
      }
    }
  }

  void Accumulate() {
    result_.live_bytes.resize(schedule_.size());
    int64_t live = graph_.resident_bytes;
    for (size_t p = 0; p < schedule_.size(); ++p) {
      live += change_[p];
      result_.live_bytes[p] = live;
    }
  }

  const MemoryGraph& graph_;
  const Schedule& schedule_;
  std::vector<int32_t> latest_;  // Version of each buffer so far.
  // Reads in the order of the schedule: of which version, and where.
  std::vector<int32_t> read_version_;
  std::vector<Position> read_at_;
  Liveness result_;
  std::vector<int64_t> change_;
};

}  // namespace

int64_t Liveness::peak_bytes() const {
  return live_bytes.empty()
             ? resident_bytes
             : *std::max_element(live_bytes.begin(), live_bytes.end());
}

Position Liveness::peak_position() const {
  if (live_bytes.empty()) return kNone;
  return static_cast<Position>(
      std::max_element(live_bytes.begin(), live_bytes.end()) -
      live_bytes.begin());
}

int32_t Liveness::LastBefore(BufferId buffer, Position at) const {
  const Slice all = of_buffer[buffer];
  const int32_t* const next = std::partition_point(
      all.begin(), all.end(),
      [this, at](int32_t version) { return versions[version].begin < at; });
  return next == all.begin() ? kNone : *(next - 1);
}

bool EndsAt(const Schedule& schedule, const Liveness& liveness, int32_t number,
            Position at) {
  if (number == kNone) return false;
  const Version& version = liveness.versions[number];
  if (version.end != at || version.reads.empty() ||
      version.reads.back() != at) {
    return false;
  }
  const auto is_copy = [&schedule](Position read) {
    return schedule[read].kind == ItemKind::kSwapOut;
  };
  if (std::any_of(version.reads.begin(), version.reads.end(), is_copy)) {
    return false;
  }
  return schedule[version.begin].kind != ItemKind::kSwapIn ||
         liveness.of_buffer[version.buffer].back() == number;
}

bool WritesInPlace(const MemoryGraph& graph, const Schedule& schedule,
                   const Liveness& liveness, Position at) {
  const PlanItem& item = schedule[at];
  if (!IsOp(item.kind)) return false;
  const std::vector<BufferId>& inputs = graph.ops[item.id].in_place.inputs;
  return !inputs.empty() &&
         std::all_of(inputs.begin(), inputs.end(), [&](BufferId b) {
           return EndsAt(schedule, liveness, liveness.LastBefore(b, at), at);
         });
}

Liveness AnalyzeLiveness(const MemoryGraph& graph, const Schedule& schedule) {
  return Analysis(graph, schedule).Run();
}

}  // namespace sn_tf
