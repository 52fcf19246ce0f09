// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/liveness.h"

#include <algorithm>

namespace sn_tf {
namespace {

class Analysis {
 public:
  Analysis(const MemoryGraph& graph, const Schedule& schedule)
      : graph_(graph), schedule_(schedule) {
    result_.of_buffer.resize(graph.buffers.size());
    result_.resident_bytes = graph.resident_bytes;
    change_.assign(schedule.size() + 1, 0);
  }

  Liveness Run() {
    for (size_t p = 0; p < schedule_.size(); ++p) {
      Visit(static_cast<Position>(p));
    }
    for (const Version& version : result_.versions) {
      const Buffer& buffer = graph_.buffers[version.buffer];
      if (!buffer.view) Hold(version.begin, version.end, buffer.bytes);
    }
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
    const std::vector<int32_t>& versions = result_.of_buffer[b];
    return versions.empty() ? nullptr : &result_.versions[versions.back()];
  }

  void Begin(BufferId b, Position p) {
    result_.of_buffer[b].push_back(
        static_cast<int32_t>(result_.versions.size()));
    result_.versions.push_back({b, p, {}, p});
  }

  void Read(BufferId b, Position p) {
    if (Version* version = Latest(b)) {
      version->reads.push_back(p);
      version->end = std::max(version->end, p);
    }
  }

  void Hold(Position begin, Position end, int64_t bytes) {
    change_[begin] += bytes;
    change_[end + 1] -= bytes;
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

Liveness AnalyzeLiveness(const MemoryGraph& graph, const Schedule& schedule) {
  return Analysis(graph, schedule).Run();
}

}  // namespace sn_tf
