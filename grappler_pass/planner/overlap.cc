// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/overlap.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
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

// Copies in that are tried when the link is free: one that is needed later may
// find room where the next one does not.
constexpr size_t kLookAhead = 8;

// What copies that need not begin yet leave free of the budget: one part of so
// many.
constexpr int64_t kSpareShare = 16;

// Copies begin as soon as they can only where that makes a step faster by this
// share: it leaves no memory free.
constexpr double kWorthShare = 0.01;

// Stalls move what comes after them, and so when copies should begin.
constexpr int kRounds = 3;

// Start of each position of `schedule`, and the end at the back, where its ops
// run when `timeline` says that those of `moved` do: the same ops in the same
// order.
std::vector<double> ClockOf(const Schedule& schedule, const Schedule& moved,
                            const Timeline& timeline) {
  std::vector<double> clock(schedule.size() + 1, timeline.seconds);
  size_t at = moved.size();
  for (size_t p = schedule.size(); p-- > 0;) {
    clock[p] = clock[p + 1];
    if (!IsOp(schedule[p].kind)) continue;
    do {
      --at;
    } while (!IsOp(moved[at].kind));
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
        (IsOp(schedule[p].kind) ? graph.ops[schedule[p].id].seconds : 0);
  }
  return clock;
}

// For each position from the first of two partners to the second, the position
// of the second; elsewhere kNone.
std::vector<Position> PairEnds(const MemoryGraph& graph,
                               const Schedule& schedule) {
  std::vector<Position> ends(schedule.size(), kNone);
  Position last = kNone;  // Where an op ran.
  for (size_t i = 0; i < schedule.size(); ++i) {
    const auto p = static_cast<Position>(i);
    if (schedule[i].kind != ItemKind::kRun) continue;
    const OpId partner = graph.ops[schedule[i].id].partner;
    if (partner != kNone && last != kNone && schedule[last].id == partner) {
      std::fill(ends.begin() + last, ends.begin() + p + 1, p);
    }
    last = p;
  }
  return ends;
}

// When copies back begin.
enum class Aim {
  kInTime,  // Room is kept for them to end in time, the last ones first: best
            // where the link suffices.
  kSoon,    // As soon as the link is free and there is room.
};

class Overlap {
 public:
  // `liveness` is of `schedule`, whose positions start when `clock` says.
  Overlap(const MemoryGraph& graph, const CostModel& costs, int64_t budget,
          const Schedule& schedule, const Liveness& liveness,
          const std::vector<double>& clock, Aim aim)
      : graph_(graph),
        costs_(costs),
        budget_(budget),
        schedule_(schedule),
        liveness_(liveness),
        clock_(clock),
        aim_(aim),
        profile_(liveness.live_bytes),
        target_(schedule.size()),
        pair_end_(PairEnds(graph, schedule)),
        wait_of_(graph.buffers.size(), kNone) {
    for (size_t p = 0; p < schedule.size(); ++p) {
      target_[p] = static_cast<Position>(p);
    }
    CollectOuts();
    CollectIns();
  }

  // Moves what the budget has room for.
  Schedule Run() {
    if (aim_ == Aim::kInTime) {
      for (const CopyIn& copy : ins_) Advance(copy);
    }
    DelayWaits();
    FillLink();
    return Moved();
  }

 private:
  struct CopyOut {
    BufferId buffer;
    Position wait;  // Where its swap_wait stands.
    Position next;  // Where its next version begins; kNone: there is none.
    double end;     // With slack.
  };
  struct CopyIn {
    const Version* version;
    double begin;             // To end in time.
    double begin_with_slack;  // To end in time if it takes longer.
    // While the link is filled: the first position at which it may begin, and
    // the last known to be too full for it. That stays so: what is moved only
    // fills the memory more.
    Position earliest = 0;
    Position full = kNone;
  };

  // In schedule order, one after the other.
  void CollectOuts() {
    for (size_t p = 0; p < schedule_.size(); ++p) {
      if (schedule_[p].kind == ItemKind::kSwapWait) {
        wait_of_[schedule_[p].id] = static_cast<Position>(p);
      }
    }
    double link_free = 0;
    for (size_t p = 0; p < schedule_.size(); ++p) {
      if (schedule_[p].kind != ItemKind::kSwapOut) continue;
      const BufferId b = schedule_[p].id;
      const double begin = clock_[p];
      link_free = std::max(link_free, begin) +
                  costs_.CopySeconds(graph_.buffers[b].bytes);
      const Slice versions = liveness_.of_buffer[b];
      const Position next =
          versions.size() > 1 ? liveness_.versions[versions[1]].begin : kNone;
      outs_.push_back(
          {b, wait_of_[b], next, begin + kSlack * (link_free - begin)});
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
      ins_.push_back(
          {&version, next_begin, needed - kSlack * (needed - next_begin)});
    }
  }

  // Whether `p` is behind the first of two partners, and not behind both:
  // nothing that stands there would stay there.
  bool IsBetweenPartners(Position p) const {
    return p > 0 && pair_end_[p] == pair_end_[p - 1] && pair_end_[p] >= p;
  }

  // Nothing is waited for before its memory is needed, or before it should
  // long have left; then the copy that began first is: the link has ended it
  // before the others.
  void DelayWaits() {
    std::vector<std::vector<size_t>> standing(schedule_.size());
    std::vector<std::vector<size_t>> returning(schedule_.size());
    for (size_t i = 0; i < outs_.size(); ++i) {
      standing[outs_[i].wait].push_back(i);
      if (outs_[i].next != kNone)
        returning[target_[outs_[i].next]].push_back(i);
    }
    for (Position p = 0; p < static_cast<Position>(schedule_.size()); ++p) {
      for (const size_t i : standing[p]) Hold(i);
      for (const size_t i : returning[p]) WaitFor(i, p);
      if (IsBetweenPartners(p)) continue;
      const Position last = std::max(p, pair_end_[p]);
      while (!held_.empty() &&
             (outs_[*held_.begin()].end <= clock_[p] ||
              profile_.Max(p, last) + held_bytes_ > budget_)) {
        WaitFor(*held_.begin(), p);
      }
    }
    while (!held_.empty()) {
      WaitFor(*held_.begin(), static_cast<Position>(schedule_.size()));
    }
  }

  // From here on the wait for the copy may be delayed.
  void Hold(size_t out) {
    held_.insert(out);
    held_bytes_ += graph_.buffers[outs_[out].buffer].bytes;
  }

  void WaitFor(size_t out, Position at) {
    if (held_.erase(out) == 0) return;
    const CopyOut& copy = outs_[out];
    const int64_t bytes = graph_.buffers[copy.buffer].bytes;
    held_bytes_ -= bytes;
    profile_.Add(copy.wait, at - 1, bytes);
    target_[copy.wait] = at;
  }

  // It begins where it must to end in time, or as near to that as there is
  // room.
  void Advance(const CopyIn& copy) {
    const int64_t bytes = graph_.buffers[copy.version->buffer].bytes;
    const Position from = copy.version->begin;
    Position low = EarliestSwapIn(*copy.version);
    low = std::max(
        low, static_cast<Position>(std::upper_bound(clock_.begin(),
                                                    clock_.begin() + from + 1,
                                                    copy.begin) -
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
    if (IsBetweenPartners(low)) low = std::min(pair_end_[low] + 1, from);
    profile_.Add(low, from - 1, bytes);
    target_[from] = low;
  }

  // Whenever the link is about to be free, the copy that is needed soonest of
  // those for which there is room begins.
  void FillLink() {
    std::vector<CopyIn*> waiting;  // Needed soonest last.
    for (CopyIn& copy : ins_) {
      copy.earliest = EarliestSwapIn(*copy.version);
      waiting.push_back(&copy);
    }
    double link_free = 0;
    for (Position p = 0; p < static_cast<Position>(schedule_.size()); ++p) {
      while (true) {
        const size_t next = NextIn(waiting, p, link_free <= clock_[p + 1]);
        if (next == waiting.size()) break;
        const Version& version = *waiting[next]->version;
        const int64_t bytes = graph_.buffers[version.buffer].bytes;
        profile_.Add(p, target_[version.begin] - 1, bytes);
        target_[version.begin] = p;
        link_free = std::max(link_free, clock_[p]) + costs_.CopySeconds(bytes);
        waiting.erase(waiting.begin() + static_cast<int64_t>(next));
      }
    }
  }

  // The index of what begins at `p`: because it must, or because the link is
  // free; the size of `waiting` where nothing does.
  size_t NextIn(const std::vector<CopyIn*>& waiting, Position p,
                bool link_is_free) const {
    const size_t look = std::min(waiting.size(), kLookAhead);
    for (size_t i = waiting.size(); i-- > waiting.size() - look;) {
      const Position target = target_[waiting[i]->version->begin];
      if (target <= p || (link_is_free && MayBegin(waiting[i], p))) return i;
    }
    return waiting.size();
  }

  // Whether there is room for the copy from `p` on. One that would be in time
  // anyway leaves a part of the budget alone: a step may need more than was
  // foreseen.
  bool MayBegin(CopyIn* copy, Position p) const {
    if (p < copy->earliest || p <= copy->full || IsBetweenPartners(p)) {
      return false;
    }
    int64_t most = budget_;
    if (aim_ == Aim::kInTime) {
      if (clock_[p] < copy->begin_with_slack) return false;
      most -= budget_ / kSpareShare;
    }
    const Version& version = *copy->version;
    copy->full =
        profile_.LastAbove(p, target_[version.begin] - 1,
                           most - graph_.buffers[version.buffer].bytes);
    return copy->full == kNone;
  }

  // After the uses of the version before, and after the wait.
  Position EarliestSwapIn(const Version& version) const {
    Position earliest = 0;
    const int32_t before = liveness_.LastBefore(version.buffer, version.begin);
    if (before != kNone) {
      const Version& other = liveness_.versions[before];
      earliest = 1 + (other.reads.empty() ? other.begin : other.reads.back());
    }
    const Position wait = wait_of_[version.buffer];
    if (wait == kNone || wait > version.begin) return earliest;
    // What moves to one position keeps its order.
    return std::max(earliest, target_[wait] > wait ? target_[wait] : wait + 1);
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
  const Liveness& liveness_;
  const std::vector<double>& clock_;
  const Aim aim_;
  MemoryProfile profile_;
  std::vector<CopyOut> outs_;
  std::vector<CopyIn> ins_;
  std::set<size_t> held_;  // Indices into outs_ whose waits are delayed.
  int64_t held_bytes_ = 0;
  std::vector<Position> target_;  // Where each item goes: before this one.
  const std::vector<Position> pair_end_;  // See PairEnds.
  std::vector<Position> wait_of_;  // Where each buffer's swap_wait stands.
};

}  // namespace

Schedule OverlapCopies(const MemoryGraph& graph, const CostModel& costs,
                       int64_t budget_bytes, const Schedule& schedule) {
  if (std::all_of(schedule.begin(), schedule.end(),
                  [](const PlanItem& item) { return IsOp(item.kind); })) {
    return KeepPartnersTogether(graph, schedule);
  }
  const Liveness liveness = AnalyzeLiveness(graph, schedule);
  Schedule best = schedule;
  double best_seconds = Simulate(graph, costs, schedule).added.total();
  std::vector<double> clock = IdealClock(graph, schedule);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> next_clock;  // Of the first that fits.
    for (const Aim aim : {Aim::kInTime, Aim::kSoon}) {
      Overlap overlap(graph, costs, budget_bytes, schedule, liveness, clock,
                      aim);
      Schedule moved = KeepPartnersTogether(graph, overlap.Run());
      if (AnalyzeLiveness(graph, moved).peak_bytes() > budget_bytes) continue;
      const Timeline timeline = Simulate(graph, costs, moved);
      if (next_clock.empty()) next_clock = ClockOf(schedule, moved, timeline);
      // Of two that are equally fast, the one with more slack.
      const double worth =
          aim == Aim::kSoon ? kWorthShare * timeline.seconds : 0;
      if (timeline.added.total() > best_seconds - worth) continue;
      best_seconds = timeline.added.total();
      best = std::move(moved);
    }
    if (next_clock.empty()) break;
    clock = std::move(next_clock);
  }
  return best;
}

}  // namespace sn_tf
