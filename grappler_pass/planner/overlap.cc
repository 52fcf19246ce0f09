// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/overlap.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/memory_profile.h"
#include "grappler_pass/planner/schedule_edit.h"

namespace sn_tf {
namespace {

double ItemSeconds(const MemoryGraph& graph, const PlanItem& item) {
  return item.kind == ItemKind::kRun || item.kind == ItemKind::kRecompute
             ? graph.ops[item.id].seconds
             : 0;
}

// Start time of each position were there no stalls, and the end at the back.
std::vector<double> Clock(const MemoryGraph& graph, const Schedule& schedule) {
  std::vector<double> clock(schedule.size() + 1, 0);
  for (size_t p = 0; p < schedule.size(); ++p) {
    clock[p + 1] = clock[p] + ItemSeconds(graph, schedule[p]);
  }
  return clock;
}

class Overlap {
 public:
  Overlap(const MemoryGraph& graph, const CostModel& costs, int64_t budget,
          const Schedule& schedule)
      : graph_(graph),
        costs_(costs),
        budget_(budget),
        schedule_(schedule),
        liveness_(AnalyzeLiveness(graph, schedule)),
        clock_(Clock(graph, schedule)),
        profile_(liveness_.live_bytes),
        target_(schedule.size()) {
    for (size_t p = 0; p < schedule.size(); ++p) {
      target_[p] = static_cast<Position>(p);
    }
  }

  Schedule Run() {
    DelayWaits();
    AdvanceSwapIns();
    return Moved();
  }

 private:
  const Version& First(BufferId b) const {
    return liveness_.versions[liveness_.of_buffer[b].front()];
  }

  // Each wait stands where its copy will have ended.
  void DelayWaits() {
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
      const int64_t bytes = graph_.buffers[b].bytes;
      link_free = std::max(link_free, clock_[p]) + costs_.CopySeconds(bytes);
      const Position wait = wait_of[b];
      const std::vector<int32_t>& versions = liveness_.of_buffer[b];
      const Position limit = versions.size() > 1
                                 ? liveness_.versions[versions[1]].begin
                                 : static_cast<Position>(schedule_.size());
      Position low = wait;
      Position high = static_cast<Position>(
          std::lower_bound(clock_.begin() + wait, clock_.begin() + limit,
                           link_free) -
          clock_.begin());
      while (low < high) {  // The latest position with room until there.
        const Position middle = low + (high - low + 1) / 2;
        if (profile_.Max(wait, middle - 1) + bytes <= budget_) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      profile_.Add(wait, low - 1, bytes);
      target_[wait] = low;
    }
  }

  // Each swap_in stands where its copy must begin to end in time.
  void AdvanceSwapIns() {
    double next_start = std::numeric_limits<double>::infinity();
    for (size_t i = liveness_.versions.size(); i-- > 0;) {
      const Version& version = liveness_.versions[i];
      const Position p = version.begin;
      if (schedule_[p].kind != ItemKind::kSwapIn) continue;
      const int64_t bytes = graph_.buffers[version.buffer].bytes;
      const double needed =
          clock_[version.reads.empty() ? p : version.reads.front()];
      const double start =
          std::min(needed, next_start) - costs_.CopySeconds(bytes);
      Position low = EarliestSwapIn(version);
      if (low < p) {
        low = std::max<Position>(
            low, static_cast<Position>(std::upper_bound(clock_.begin(),
                                                        clock_.begin() + p + 1,
                                                        start) -
                                       clock_.begin() - 1));
      }
      low = std::min(low, p);
      Position high = p;
      while (low < high) {  // The earliest position with room from there.
        const Position middle = low + (high - low) / 2;
        if (profile_.Max(middle, p - 1) + bytes <= budget_) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      profile_.Add(low, p - 1, bytes);
      target_[p] = low;
      next_start = std::min(next_start, clock_[low]);
    }
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
        return std::max(p, target_[p]) + 1;
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
  const std::vector<double> clock_;
  MemoryProfile profile_;
  std::vector<Position> target_;  // Where each item goes: before this one.
};

}  // namespace

Schedule OverlapCopies(const MemoryGraph& graph, const CostModel& costs,
                       int64_t budget_bytes, const Schedule& schedule) {
  Schedule moved = KeepPartnersTogether(
      graph, Overlap(graph, costs, budget_bytes, schedule).Run());
  return AnalyzeLiveness(graph, moved).peak_bytes() <= budget_bytes ? moved
                                                                    : schedule;
}

double AddedSeconds(const MemoryGraph& graph, const CostModel& costs,
                    const Schedule& schedule) {
  double now = 0;
  double route = 0;
  double interference = 0;
  double out_free = 0;
  double in_free = 0;
  std::vector<double> out_done(graph.buffers.size(), 0);
  std::vector<double> in_done(graph.buffers.size(), 0);
  for (const PlanItem& item : schedule) {
    switch (item.kind) {
      case ItemKind::kRun:
      case ItemKind::kRecompute:
        for (const BufferId b : graph.ops[item.id].reads) {
          now = std::max(now, in_done[b]);
        }
        now += graph.ops[item.id].seconds;
        if (item.kind == ItemKind::kRun) route += graph.ops[item.id].seconds;
        break;
      case ItemKind::kSwapOut:
        out_free = std::max(now, out_free) +
                   costs.CopySeconds(graph.buffers[item.id].bytes);
        out_done[item.id] = out_free;
        interference += costs.HiddenCopyCost(graph.buffers[item.id].bytes);
        break;
      case ItemKind::kSwapWait:
        now = std::max(now, out_done[item.id]);
        break;
      case ItemKind::kSwapIn:
        in_free = std::max(now, in_free) +
                  costs.CopySeconds(graph.buffers[item.id].bytes);
        in_done[item.id] = in_free;
        interference += costs.HiddenCopyCost(graph.buffers[item.id].bytes);
        break;
    }
  }
  return now - route + interference;
}

}  // namespace sn_tf
