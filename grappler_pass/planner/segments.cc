// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/segments.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/op_kinds.h"
#include "grappler_pass/planner/run_positions.h"
#include "grappler_pass/planner/schedule_edit.h"

namespace sn_tf {
namespace {

// What would take more ops in a row stays.
constexpr int kMostOps = 256;

// The first read of `version` behind `turn`, where it waits across that; kNone
// where it does not.
Position ReadBehind(const Version& version, Position turn) {
  if (version.begin >= turn) return kNone;
  for (const Position read : version.reads) {
    if (read == turn) return kNone;
    if (read > turn) return read;
  }
  return kNone;
}

// Whether a buffer of `op` is a checkpoint.
bool IsCheckpoint(const MemoryGraph& graph, const SegmentOptions& options,
                  const Op& op) {
  if (IsConvolution(op) || IsMatrixProduct(op)) return true;
  if (!IsJoin(op)) return false;
  const auto joined =
      std::count_if(op.reads.begin(), op.reads.end(), [&](BufferId b) {
        return !graph.buffers[b].view &&
               graph.buffers[b].bytes >= options.min_buffer_bytes;
      });
  return joined > 1;
}

class Recomputation {
 public:
  Recomputation(const MemoryGraph& graph, const SegmentOptions& options,
                const Schedule& route)
      : graph_(graph),
        options_(options),
        route_(route),
        runs_(graph, route),
        dropped_(graph.buffers.size(), false),
        stays_(graph.buffers.size(), false),
        written_at_(graph.buffers.size(), kNone) {
    Drop();
    DecideWhatStays();
  }

  Position turn() const { return turn_; }

  Schedule Run() {
    Schedule schedule;
    for (size_t p = 0; p < route_.size(); ++p) {
      at_ = static_cast<Position>(p);
      for (const BufferId b : graph_.ops[route_[p].id].reads) {
        if (at_ > turn_ && dropped_[b]) BringBack(b, &schedule);
      }
      schedule.push_back(route_[p]);
    }
    return schedule;
  }

 private:
  void Drop() {
    const Liveness liveness = AnalyzeLiveness(graph_, route_);
    turn_ = liveness.peak_position();
    for (const Version& version : liveness.versions) {
      const Buffer& buffer = graph_.buffers[version.buffer];
      const Op& producer = graph_.ops[buffer.producer];
      dropped_[version.buffer] = buffer.MayMove(options_.min_buffer_bytes) &&
                                 producer.pure &&
                                 !IsCheckpoint(graph_, options_, producer) &&
                                 ReadBehind(version, turn_) != kNone;
    }
  }

  // Of each dropped buffer, whether it stays once it is back.
  void DecideWhatStays() {
    if (options_.recompute != SegmentRecompute::kCostAware) {
      stays_.assign(stays_.size(),
                    options_.recompute == SegmentRecompute::kSpeedCentric);
      return;
    }
    segment_.resize(dropped_.size());
    std::iota(segment_.begin(), segment_.end(), 0);
    for (size_t b = 0; b < dropped_.size(); ++b) {
      if (!dropped_[b]) continue;
      for (const BufferId read : graph_.ops[graph_.buffers[b].producer].reads) {
        if (dropped_[read]) {
          segment_[SegmentOf(read)] = SegmentOf(static_cast<BufferId>(b));
        }
      }
    }
    std::vector<int64_t> bytes(dropped_.size(), 0);
    for (size_t b = 0; b < dropped_.size(); ++b) {
      if (dropped_[b]) {
        bytes[SegmentOf(static_cast<BufferId>(b))] += graph_.buffers[b].bytes;
      }
    }
    const int64_t largest_layer = graph_.FloorBytes() - graph_.resident_bytes;
    for (size_t b = 0; b < stays_.size(); ++b) {
      stays_[b] = bytes[SegmentOf(static_cast<BufferId>(b))] <= largest_layer;
    }
  }

  BufferId SegmentOf(BufferId buffer) {
    while (segment_[buffer] != buffer) {
      segment_[buffer] = segment_[segment_[buffer]];
      buffer = segment_[buffer];
    }
    return buffer;
  }

  // Whether the op at `at_` finds it in memory. What the op before it has read
  // is still there.
  bool IsBack(BufferId buffer) const {
    const Position written = written_at_[buffer];
    return written != kNone && (stays_[buffer] || written >= at_ - 1);
  }

  // Where it cannot be computed anew, nothing: it then waits after all.
  void BringBack(BufferId buffer, Schedule* schedule) {
    if (!IsBack(buffer)) {
      std::vector<OpId> visited;
      Schedule chain;
      if (!Collect(graph_.buffers[buffer].producer, &visited, &chain)) return;
      schedule->insert(schedule->end(), chain.begin(), chain.end());
      for (const PlanItem& item : chain) {
        for (const BufferId b : graph_.ops[item.id].writes) {
          written_at_[b] = at_;
        }
      }
    }
    written_at_[buffer] = at_;
  }

  // Adds what computes `op`'s buffers, and before it what of their segment
  // that needs. False where it cannot be computed anew.
  bool Collect(OpId op, std::vector<OpId>* visited, Schedule* chain) const {
    if (static_cast<int>(visited->size()) == kMostOps) return false;
    visited->push_back(op);
    for (const BufferId b : graph_.ops[op].reads) {
      const Buffer& read = graph_.buffers[b];
      if (read.view && !runs_.IsIntact(read, at_)) return false;
      if (!dropped_[b] || IsBack(b)) continue;
      if (std::find(visited->begin(), visited->end(), read.producer) ==
          visited->end()) {
        // What cannot be computed anew has waited.
        Collect(read.producer, visited, chain);
      }
    }
    chain->push_back({ItemKind::kRecompute, op});
    return true;
  }

  const MemoryGraph& graph_;
  const SegmentOptions& options_;
  const Schedule& route_;
  Position turn_ = 0;
  Position at_ = 0;
  const RunPositions runs_;
  // Of each buffer:
  std::vector<bool> dropped_;
  std::vector<bool> stays_;
  std::vector<Position> written_at_;  // Anew, or read then; kNone: not yet.
  std::vector<BufferId> segment_;     // Towards the one that stands for all.
};

// What waits across the turn, where `item` stands, leaves, where it is not
// recomputed.
Schedule SwapCheckpoints(const MemoryGraph& graph,
                         const SegmentOptions& options,
                         const Schedule& schedule, const PlanItem& item) {
  const Liveness liveness = AnalyzeLiveness(graph, schedule);
  const auto turn = static_cast<Position>(
      std::find(schedule.begin(), schedule.end(), item) - schedule.begin());
  ScheduleInserter inserter;
  for (const Version& version : liveness.versions) {
    if (!graph.buffers[version.buffer].MayMove(options.min_buffer_bytes) ||
        schedule[version.begin].kind != ItemKind::kRun) {
      continue;
    }
    const Position read = ReadBehind(version, turn);
    if (read == kNone) continue;
    inserter.SwapOutAfter(version.begin, version.buffer);
    inserter.SwapInBefore(read, version.buffer);
  }
  return inserter.Apply(schedule);
}

}  // namespace

Schedule RecomputeSegments(const MemoryGraph& graph,
                           const SegmentOptions& options,
                           const Schedule& route) {
  if (route.empty()) return route;
  Recomputation recomputation(graph, options, route);
  const Schedule schedule = DropUnused(graph, recomputation.Run());
  if (!options.swap_checkpoints) return schedule;
  return DropUnused(graph, SwapCheckpoints(graph, options, schedule,
                                           route[recomputation.turn()]));
}

}  // namespace sn_tf
