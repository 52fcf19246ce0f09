// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/overlap.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/memory_profile.h"
#include "grappler_pass/planner/schedule_edit.h"
#include "grappler_pass/planner/timeline.h"

namespace sn_tf {
namespace {

// Copies may take this many times as long as the costs foretell before an op
// has to wait for one, where there is room for that.
constexpr double kSlack = 2;

// Stalls move what comes after them, and so when copies should begin.
constexpr int kRounds = 3;

bool IsOpItem(const PlanItem& item) {
  return item.kind == ItemKind::kRun || item.kind == ItemKind::kRecompute;
}

// Start of each position of `schedule`, and the end at the back, where its ops
// run when `timeline` says that those of `moved` do: the same ops in the same
// order.
std::vector<double> ClockOf(const Schedule& schedule, const Schedule& moved,
                            const Timeline& timeline) {
  std::vector<double> clock(schedule.size() + 1, timeline.seconds);
  size_t at = moved.size();
  for (size_t p = schedule.size(); p-- > 0;) {
    clock[p] = clock[p + 1];
    if (!IsOpItem(schedule[p])) continue;
    do {
      --at;
    } while (!IsOpItem(moved[at]));
    clock[p] = timeline.start[at];
  }
  return clock;
}

// The clock of a step without stalls.
std::vector<double> IdealClock(const MemoryGraph& graph,
                               const Schedule& schedule) {
  std::vector<double> clock(schedule.size() + 1, 0);
  for (size_t p = 0; p < schedule.size(); ++p) {
    clock[p + 1] =
        clock[p] +
        (IsOpItem(schedule[p]) ? graph.ops[schedule[p].id].seconds : 0);
  }
  return clock;
}

class Overlap {
 public:
  Overlap(const MemoryGraph& graph, const CostModel& costs, int64_t budget,
          const Schedule& schedule, const std::vector<double>& clock)
      : graph_(graph),
        costs_(costs),
        budget_(budget),
        schedule_(schedule),
        liveness_(AnalyzeLiveness(graph, schedule)),
        clock_(clock),
        profile_(liveness_.live_bytes),
        target_(schedule.size()) {
    for (size_t p = 0; p < schedule.size(); ++p) {
      target_[p] = static_cast<Position>(p);
    }
    CollectOuts();
    CollectIns();
  }

  Schedule Run() {
    for (const double slack : {1.0, kSlack}) {
      for (const CopyOut& copy : outs_) Delay(copy, slack);
      for (const CopyIn& copy : ins_) Advance(copy, slack);
    }
    return Moved();
  }

 private:
  struct CopyOut {
    BufferId buffer;
    Position wait;  // Where its swap_wait stands.
    Position next;  // Where its next version begins; kNone: there is none.
    double begin, end;
  };
  struct CopyIn {
    const Version* version;
    double begin, needed;
  };

  // In schedule order, one after the other.
  void CollectOuts() {
    std::vector<Position> wait_of(graph_.buffers.size(), kNone);
    for (size_t p = 0; p < schedule_.size(); ++p) {
      if (schedule_[p].kind == ItemKind::kSwapWait) {
        wait_of[schedule_[p].id] = static_cast<Position>(p);
      }
    }
    double link_free = 0;
    for (size_t p = 0; p < schedule_.size(); ++p) {
      if (schedule_[p].kind != ItemKind::kSwapOut) continue;
      const BufferId b = schedule_[p].id;
      link_free = std::max(link_free, clock_[p]) +
                  costs_.CopySeconds(graph_.buffers[b].bytes);
      const std::vector<int32_t>& versions = liveness_.of_buffer[b];
      const Position next =
          versions.size() > 1 ? liveness_.versions[versions[1]].begin : kNone;
      outs_.push_back({b, wait_of[b], next, clock_[p], link_free});
    }
  }

  // The last first, each as late as those behind it on the link allow.
  void CollectIns() {
    double next_begin = std::numeric_limits<double>::infinity();
    for (size_t i = liveness_.versions.size(); i-- > 0;) {
      const Version& version = liveness_.versions[i];
      const Position p = version.begin;
      if (schedule_[p].kind != ItemKind::kSwapIn) continue;
      const double needed =
          clock_[version.reads.empty() ? p : version.reads.front()];
      next_begin = std::min(needed, next_begin) -
                   costs_.CopySeconds(graph_.buffers[version.buffer].bytes);
      ins_.push_back({&version, next_begin, needed});
    }
  }

  // Its wait stands where the copy will have ended, were it `slack` times as
  // long, or as near to that as there is room.
  void Delay(const CopyOut& copy, double slack) {
    const double end = copy.begin + slack * (copy.end - copy.begin);
    const int64_t bytes = graph_.buffers[copy.buffer].bytes;
    const Position from = target_[copy.wait];
    const Position limit = copy.next == kNone
                               ? static_cast<Position>(schedule_.size())
                               : target_[copy.next];
    Position low = from;
    Position high = static_cast<Position>(
        std::lower_bound(clock_.begin() + from, clock_.begin() + limit, end) -
        clock_.begin());
    while (low < high) {  // The latest position with room until there.
      const Position middle = low + (high - low + 1) / 2;
      if (profile_.Max(from, middle - 1) + bytes <= budget_) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    profile_.Add(from, low - 1, bytes);
    target_[copy.wait] = low;
  }

  // It begins where it must to end in time, were it `slack` times as long, or
  // as near to that as there is room.
  void Advance(const CopyIn& copy, double slack) {
    const double begin = copy.needed - slack * (copy.needed - copy.begin);
    const int64_t bytes = graph_.buffers[copy.version->buffer].bytes;
    const Position from = target_[copy.version->begin];
    Position low = std::min(from, EarliestSwapIn(*copy.version));
    low = std::max(low, static_cast<Position>(
                            std::upper_bound(clock_.begin(),
                                             clock_.begin() + from + 1, begin) -
                            clock_.begin() - 1));
    low = std::min(low, from);
    Position high = from;
    while (low < high) {  // The earliest position with room from there.
      const Position middle = low + (high - low) / 2;
      if (profile_.Max(middle, from - 1) + bytes <= budget_) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    profile_.Add(low, from - 1, bytes);
    target_[copy.version->begin] = low;
  }

  // After the uses of the version before, and after the wait.
  Position EarliestSwapIn(const Version& version) const {
    Position earliest = 0;
    for (const int32_t v : liveness_.of_buffer[version.buffer]) {
      const Version& other = liveness_.versions[v];
      if (other.begin >= version.begin) break;
      earliest = other.end + 1;
    }
    for (Position p = earliest; p < version.begin; ++p) {
      if (schedule_[p] == PlanItem{ItemKind::kSwapWait, version.buffer}) {
        // What moves to one position keeps its order.
        return target_[p] > p ? target_[p] : p + 1;
      }
    }
    return earliest;
  }

  Schedule Moved() const {
    std::vector<std::vector<Position>> arriving(schedule_.size() + 1);
    for (size_t p = 0; p < schedule_.size(); ++p) {
      if (target_[p] != static_cast<Position>(p)) {
        arriving[target_[p]].push_back(static_cast<Position>(p));
      }
    }
    Schedule result;
    for (size_t p = 0; p <= schedule_.size(); ++p) {
      for (const Position from : arriving[p]) {
        result.push_back(schedule_[from]);
      }
      if (p < schedule_.size() && target_[p] == static_cast<Position>(p)) {
        result.push_back(schedule_[p]);
      }
    }
    return result;
  }

  const MemoryGraph& graph_;
  const CostModel& costs_;
  const int64_t budget_;
  const Schedule& schedule_;
  const Liveness liveness_;
  const std::vector<double>& clock_;
  MemoryProfile profile_;
  std::vector<CopyOut> outs_;
  std::vector<CopyIn> ins_;
  std::vector<Position> target_;  // Where each item goes: before this one.
};

}  // namespace

Schedule OverlapCopies(const MemoryGraph& graph, const CostModel& costs,
                       int64_t budget_bytes, const Schedule& schedule) {
  Schedule best = schedule;
  double best_seconds = Simulate(graph, costs, schedule).added_seconds();
  std::vector<double> clock = IdealClock(graph, schedule);
  for (int round = 0; round < kRounds; ++round) {
    Schedule moved = KeepPartnersTogether(
        graph, Overlap(graph, costs, budget_bytes, schedule, clock).Run());
    if (AnalyzeLiveness(graph, moved).peak_bytes() > budget_bytes) break;
    const Timeline timeline = Simulate(graph, costs, moved);
    clock = ClockOf(schedule, moved, timeline);
    // Of two that are equally fast, the one with more slack.
    if (timeline.added_seconds() > best_seconds) continue;
    best_seconds = timeline.added_seconds();
    best = std::move(moved);
  }
  return best;
}

}  // namespace sn_tf
