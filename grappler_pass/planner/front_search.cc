// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/front_search.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "grappler_pass/planner/anneal.h"
#include "grappler_pass/planner/overlap.h"
#include "grappler_pass/planner/plan_moves.h"
#include "grappler_pass/planner/plan_search.h"
#include "grappler_pass/planner/timeline.h"

namespace sn_tf {
namespace {

// Ops up to which there is a front.
constexpr size_t kMostOps = 128;

// Budgets that are planned for at first.
constexpr int kPlanned = 8;
// Budgets that are annealed for, from the largest on; then budgets that are
// this share of the way from the floor to the smallest peak so far.
constexpr int kRungs = 24;
constexpr int kBelow = 8;
constexpr double kBelowShare = 0.5;

// Changes for each op and other op; in all; and, of larger graphs, times their
// ops: each takes time as these.
constexpr int64_t kChangesPerPair = 40;
constexpr int64_t kMostChanges = 100'000;
constexpr int64_t kMostWork = 6'500'000;
// Of which so many are made to whatever is best for some budget.
constexpr double kLocalShare = 0.4;

// What a plan adds by rounding.
constexpr double kRounding = 1e-9;

int64_t ChangesFor(const MemoryGraph& graph) {
  const auto ops = static_cast<int64_t>(std::max<size_t>(1, graph.ops.size()));
  return std::min({kChangesPerPair * ops * ops, kMostChanges, kMostWork / ops});
}

class FrontSearch {
 public:
  FrontSearch(const MemoryGraph& graph, const CostModel& costs,
              const EvictOptions& options, const Schedule& route)
      : search_(graph, costs, options, route),
        floor_bytes_(graph.FloorBytes()) {
    Schedule first = route;
    const Verdict verdict = search_.Offer(0, &first);
    range_bytes_ = std::max<int64_t>(1, verdict.peak_bytes - floor_bytes_);
  }

  PlanFront Run(const std::function<Schedule(int64_t)>& plan_for) {
    for (int i = 0; i < kPlanned; ++i) {
      Schedule planned = plan_for(Rung(i, kPlanned));
      search_.Offer(0, &planned);
    }
    const auto local = static_cast<int64_t>(
        kLocalShare * static_cast<double>(ChangesFor(search_.graph)));
    const int64_t changes =
        (ChangesFor(search_.graph) - local) / (kRungs + kBelow);
    for (int i = kRungs; i-- > 0;) AnnealFor(Rung(i, kRungs), changes);
    for (int i = 0; i < kBelow; ++i) AnnealFor(BelowAll(), changes);
    Settle();
    ChangeAny(local);
    Settle();
    return std::move(search_.front);
  }

 private:
  int64_t Rung(int i, int count) const {
    return floor_bytes_ + range_bytes_ * i / count;
  }

  int64_t BelowAll() const {
    const int64_t smallest = search_.front.entries().begin()->first;
    return floor_bytes_ +
           static_cast<int64_t>(kBelowShare *
                                static_cast<double>(smallest - floor_bytes_));
  }

  void AnnealFor(int64_t budget_bytes, int64_t changes) {
    const PlanFront::Entry* start = search_.front.Within(budget_bytes);
    if (start == nullptr) start = &search_.front.entries().begin()->second;
    Anneal(start->schedule, budget_bytes,
           search_.graph.StepSeconds() / static_cast<double>(range_bytes_),
           changes, &search_);
  }

  // A schedule of the front, and the largest budget that it is the best for.
  struct Best {
    int64_t peak_bytes;
    double added_seconds;
    int64_t budget_bytes;
    Schedule schedule;
  };

  std::vector<Best> All() const {
    std::vector<Best> all;
    for (const auto& [peak_bytes, entry] : search_.front.entries()) {
      if (!all.empty()) all.back().budget_bytes = peak_bytes - 1;
      all.push_back({peak_bytes, entry.added_seconds,
                     floor_bytes_ + range_bytes_, entry.schedule});
    }
    return all;
  }

  // Until nothing is gained: copies where they hide best, and single items
  // taken back.
  void Settle() {
    size_t before = 0;
    while (before != search_.front.kept()) {
      before = search_.front.kept();
      for (const Best& best : All()) {
        if (!settled_.insert({best.peak_bytes, best.added_seconds}).second) {
          continue;
        }
        Schedule moved = OverlapCopies(search_.graph, search_.costs,
                                       best.budget_bytes, best.schedule);
        search_.Offer(0, &moved);
        DropEach(best.schedule);
      }
    }
  }

  void DropEach(const Schedule& schedule) {
    for (size_t p = 0; p < schedule.size(); ++p) {
      const ItemKind kind = schedule[p].kind;
      if (kind != ItemKind::kRecompute && kind != ItemKind::kSwapIn) continue;
      Schedule less = schedule;
      less.erase(less.begin() + static_cast<int64_t>(p));
      search_.Offer(0, &less);
    }
  }

  // Changes of schedules of the front; each that is of use is one of them.
  void ChangeAny(int64_t changes) {
    PlanMoves moves(&search_);
    auto all = All();
    size_t kept = search_.front.kept();
    for (int64_t i = 0; i < changes; ++i) {
      if (kept != search_.front.kept()) {
        kept = search_.front.kept();
        all = All();
      }
      Schedule changed = all[search_.random.Below(all.size())].schedule;
      if (moves.Change(kNone, &changed)) search_.Offer(0, &changed);
    }
  }

  PlanSearch search_;
  const int64_t floor_bytes_;
  int64_t range_bytes_;  // From there to the route's peak.
  // What cannot be settled any better: peaks, and what is added.
  std::set<std::pair<int64_t, double>> settled_;
};

}  // namespace

bool HasFront(const Schedule& route) {
  return !route.empty() && route.size() <= kMostOps;
}

PlanFront FindFront(const MemoryGraph& graph, const CostModel& costs,
                    const EvictOptions& options, const Schedule& route,
                    const std::function<Schedule(int64_t budget)>& plan_for) {
  return FrontSearch(graph, costs, options, route).Run(plan_for);
}

Schedule WithSlack(const MemoryGraph& graph, const CostModel& costs,
                   int64_t budget_bytes, const PlanFront::Entry& entry) {
  Schedule moved = OverlapCopies(graph, costs, budget_bytes, entry.schedule);
  const double seconds = Simulate(graph, costs, moved).added.total();
  const bool same = std::abs(seconds - entry.added_seconds) <=
                    kRounding * graph.StepSeconds();
  return same ? moved : entry.schedule;
}

}  // namespace sn_tf
