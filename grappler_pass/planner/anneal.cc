// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/anneal.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "grappler_pass/planner/plan_moves.h"

namespace sn_tf {
namespace {

// By how much an op's time worse may be gone on from, in the mean over the ops:
// at first, and at the end.
constexpr double kHot = 0.7;
constexpr double kCold = 0.01;
// After so many changes on one side of the budget the price is another.
constexpr int kPatience = 50;
constexpr double kDearer = 1.3;
constexpr double kCheaper = 0.9;
// How often, above the budget, what is in memory at the peak is to go.
constexpr double kAimed = 0.5;
// Changes that come to nothing, one after the other, before one is given up.
constexpr int kMostAttempts = 8;

class Annealing {
 public:
  Annealing(Schedule schedule, int64_t budget_bytes, double seconds_per_byte,
            PlanSearch* search)
      : search_(*search),
        budget_bytes_(budget_bytes),
        moves_(search),
        price_(seconds_per_byte),
        current_(std::move(schedule)),
        verdict_(search->Offer(budget_bytes, &current_)) {}

  void Run(int64_t changes) {
    const MemoryGraph& graph = search_.graph;
    const double op_seconds =
        graph.StepSeconds() /
        std::max(1.0, static_cast<double>(graph.ops.size()));
    heat_ = op_seconds * kHot;
    const double cooler = std::pow(
        kCold / kHot, 1 / static_cast<double>(std::max<int64_t>(1, changes)));
    for (int64_t i = 0; i < changes; ++i) {
      Step();
      AdjustPrice();
      heat_ *= cooler;
    }
  }

 private:
  void Step() {
    int attempts = 0;
    while (!Change()) {
      if (++attempts == kMostAttempts) return;
    }
    const Verdict verdict = search_.Offer(budget_bytes_, &candidate_);
    if (!verdict.valid) return;
    const double worse = Cost(verdict) - Cost(verdict_);
    if (worse > 0 && search_.random.Share() >= std::exp(-worse / heat_)) return;
    current_.swap(candidate_);
    verdict_ = verdict;
  }

  bool Change() {
    candidate_ = current_;
    const bool aimed = IsBeyond(verdict_) && search_.random.Chance(kAimed);
    return moves_.Change(aimed ? verdict_.peak : kNone, &candidate_);
  }

  bool IsBeyond(const Verdict& verdict) const {
    return verdict.peak_bytes > budget_bytes_;
  }

  double Cost(const Verdict& verdict) const {
    const auto beyond = static_cast<double>(
        std::max<int64_t>(0, verdict.peak_bytes - budget_bytes_));
    return verdict.added_seconds + price_ * (beyond + verdict.excess_bytes);
  }

  void AdjustPrice() {
    const bool is_beyond = IsBeyond(verdict_);
    on_one_side_ = is_beyond == was_beyond_ ? on_one_side_ + 1 : 0;
    was_beyond_ = is_beyond;
    if (on_one_side_ < kPatience) return;
    on_one_side_ = 0;
    price_ *= is_beyond ? kDearer : kCheaper;
  }

  PlanSearch& search_;
  const int64_t budget_bytes_;
  PlanMoves moves_;
  double price_;  // Of a byte above the budget.
  Schedule current_;
  Verdict verdict_;  // On it.
  Schedule candidate_;
  double heat_ = 0;
  int on_one_side_ = 0;
  bool was_beyond_ = false;
};

}  // namespace

void Anneal(Schedule schedule, int64_t budget_bytes, double seconds_per_byte,
            int64_t changes, PlanSearch* search) {
  Annealing(std::move(schedule), budget_bytes, seconds_per_byte, search)
      .Run(changes);
}

}  // namespace sn_tf
