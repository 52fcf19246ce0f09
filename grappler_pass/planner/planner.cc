// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/planner.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "cc/core/tier_spec.h"
#include "grappler_pass/planner/evict.h"
#include "grappler_pass/planner/expected_peak.h"
#include "grappler_pass/planner/front_search.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/overlap.h"
#include "grappler_pass/planner/rematerialize.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/segments.h"
#include "grappler_pass/planner/swap_across.h"
#include "grappler_pass/planner/timeline.h"
#include "grappler_pass/planner/vdnn.h"

namespace sn_tf {
namespace {

// How a policy of SuperNeurons recomputes; none: the policy is another.
std::optional<SegmentOptions> SegmentOptionsOf(const PlannerOptions& options) {
  SegmentOptions segments;
  segments.min_buffer_bytes = options.min_buffer_bytes;
  if (options.policy == "speed_centric") {
    segments.recompute = SegmentRecompute::kSpeedCentric;
  } else if (options.policy == "memory_centric") {
    segments.recompute = SegmentRecompute::kMemoryCentric;
  } else if (options.policy == "superneurons") {
    segments.swap_checkpoints = options.tiers != "none";
  } else if (options.policy != "cost_aware") {
    return std::nullopt;
  }
  return segments;
}

EvictOptions EvictOptionsOf(const PlannerOptions& options,
                            int64_t budget_bytes) {
  EvictOptions evict;
  evict.budget_bytes = evict.useless_above_bytes = budget_bytes;
  evict.allow_swap = MaySwap(options);
  evict.allow_recompute = options.policy != "swap" && !IsVdnn(options.policy);
  evict.min_buffer_bytes = options.min_buffer_bytes;
  return evict;
}

int64_t PeakOf(const MemoryGraph& graph, const Schedule& schedule) {
  return AnalyzeLiveness(graph, schedule).peak_bytes();
}

// The schedule with the lowest peak that the greedy choices reach from one
// start. Chains have temporaries of their own, so swaps alone may reach lower
// than both.
Schedule SmallestSchedule(const MemoryGraph& graph, const CostModel& costs,
                          const PlannerOptions& options,
                          const Schedule& route) {
  EvictOptions evict = EvictOptionsOf(options, 0);
  Schedule other;
  if (!evict.allow_swap) {
    const int64_t budget =
        SmallestRematerializationBudget(graph, options.min_buffer_bytes, route);
    other = FastestRematerialization(graph, budget, options.min_buffer_bytes,
                                     route);
    if (!other.empty()) evict.useless_above_bytes = PeakOf(graph, other);
  }
  Schedule best = EvictUntilFits(graph, costs, evict, route);
  if (evict.allow_swap) {
    evict.allow_recompute = false;
    other = EvictUntilFits(graph, costs, evict, route);
  }
  if (other.empty()) return best;
  return PeakOf(graph, other) <= PeakOf(graph, best) ? other : best;
}

// Greedy choices depend on the budget, so a budget just below the lowest peak
// so far may lead lower still. Goes on until that ends or `budget` is met.
Schedule Descend(const MemoryGraph& graph, const CostModel& costs,
                 const PlannerOptions& options, const Schedule& route,
                 int64_t budget, Schedule best) {
  while (PeakOf(graph, best) > budget) {
    const int64_t below = PeakOf(graph, best) - 1;
    Schedule next =
        EvictUntilFits(graph, costs, EvictOptionsOf(options, below), route);
    if (PeakOf(graph, next) > below) break;
    best = std::move(next);
  }
  return best;
}

// What copies may cost beside the computation depends on what else is chosen.
constexpr double kExposures[] = {0.25, 1};

// A schedule that meets the budget, with nothing in it that it can do without,
// and its copies where they hide best. Empty where there is none.
Schedule Settle(const MemoryGraph& graph, const CostModel& costs,
                int64_t budget, Schedule schedule) {
  if (schedule.empty() || PeakOf(graph, schedule) > budget) return {};
  schedule = RestoreWhereFits(graph, costs, budget, std::move(schedule));
  schedule = RestoreWhereFits(graph, costs, budget, std::move(schedule));
  return OverlapCopies(graph, costs, budget, schedule);
}

// A search is given up where ops run again for so many times as long as the
// best schedule so far takes: of what a search adds, most may be taken back
// again. In a deep network it would go on for long, an op more of each chain a
// round.
constexpr double kHopeless = 4;

// Where copies of `schedule` have to be waited for: the fastest of it and of
// those that swap less. None is searched for that cannot add less than
// `rival_seconds`.
Schedule SwapLessWhereFaster(const MemoryGraph& graph, const CostModel& costs,
                             const PlannerOptions& options,
                             const Schedule& route, double rival_seconds,
                             Schedule schedule) {
  EvictOptions evict = EvictOptionsOf(options, options.budget_bytes);
  AddedTime best = Simulate(graph, costs, schedule).added;
  if (best.total() == 0 || !evict.allow_swap || !evict.allow_recompute) {
    return schedule;
  }
  const auto consider = [&](const CostModel& assumed) {
    evict.most_recompute_seconds =
        kHopeless * std::min(best.total(), rival_seconds);
    Schedule other = Settle(graph, assumed, options.budget_bytes,
                            EvictUntilFits(graph, assumed, evict, route));
    if (other.empty()) return;
    const AddedTime added = Simulate(graph, costs, other).added;
    if (added.total() >= best.total()) return;
    best = added;
    schedule = std::move(other);
  };
  for (const double exposed : kExposures) {
    CostModel assumed = costs;
    assumed.exposed = exposed;
    consider(assumed);
  }
  return schedule;
}

// Whether `schedule` meets the budget, and adds less time than `other` if that
// meets it too.
bool IsBetter(const MemoryGraph& graph, const CostModel& costs, int64_t budget,
              const Schedule& schedule, const Schedule& other) {
  if (schedule.empty()) return false;
  return other.empty() || PeakOf(graph, other) > budget ||
         Simulate(graph, costs, schedule).added.total() <
             Simulate(graph, costs, other).added.total();
}

// The fastest with recomputation alone that this planner finds; empty where the
// options do not allow it, or none meets the budget.
Schedule RecomputeAlone(const MemoryGraph& graph, const CostModel& costs,
                        const PlannerOptions& options, const Schedule& route) {
  const int64_t budget = options.budget_bytes;
  EvictOptions evict = EvictOptionsOf(options, budget);
  if (!evict.allow_recompute) return {};
  Schedule executed = Settle(
      graph, costs, budget,
      FastestRematerialization(graph, budget, options.min_buffer_bytes, route));
  evict.allow_swap = false;
  if (!executed.empty()) {
    evict.most_recompute_seconds =
        kHopeless * Simulate(graph, costs, executed).added.total();
  }
  Schedule evicted =
      Settle(graph, costs, budget, EvictUntilFits(graph, costs, evict, route));
  return IsBetter(graph, costs, budget, evicted, executed) ? evicted : executed;
}

// The plan of a graph whose route, its schedule, is above the budget; it may
// remain infeasible.
void MoveOnce(const MemoryGraph& graph, const CostModel& costs,
              const PlannerOptions& options, MemoryPlan* plan) {
  const int64_t budget = options.budget_bytes;
  const Schedule& route = plan->schedule;
  Schedule recomputed = RecomputeAlone(graph, costs, options, route);
  if (!recomputed.empty() && !MaySwap(options)) {
    plan->min_budget_bytes =
        std::min(budget, SmallestRematerializationBudget(
                             graph, options.min_buffer_bytes, route));
    plan->schedule = std::move(recomputed);
    return;
  }
  const Schedule smallest = SmallestSchedule(graph, costs, options, route);
  Schedule schedule =
      EvictUntilFits(graph, costs, EvictOptionsOf(options, budget), route);
  if (PeakOf(graph, schedule) > budget) {
    schedule = Descend(graph, costs, options, route, budget, smallest);
  }
  Schedule settled = Settle(graph, costs, budget, schedule);
  if (!settled.empty()) {
    const double rival_seconds =
        recomputed.empty() ? std::numeric_limits<double>::infinity()
                           : Simulate(graph, costs, recomputed).added.total();
    schedule = SwapLessWhereFaster(graph, costs, options, route, rival_seconds,
                                   std::move(settled));
  }
  if (IsBetter(graph, costs, budget, recomputed, schedule)) {
    schedule = std::move(recomputed);
  }
  // Where this budget is met, a peak below it need not be met as a budget.
  plan->min_budget_bytes = std::min(PeakOf(graph, smallest),
                                    std::max(budget, PeakOf(graph, schedule)));
  plan->schedule = std::move(schedule);
}

// The same where plans for all budgets are found at once.
void MoveByFront(const MemoryGraph& graph, const CostModel& costs,
                 PlannerOptions options, MemoryPlan* plan) {
  const int64_t budget = options.budget_bytes;
  const auto plan_for = [&](int64_t other_budget) {
    options.budget_bytes = other_budget;
    MemoryPlan other = *plan;
    MoveOnce(graph, costs, options, &other);
    return other.schedule;
  };
  const PlanFront front = FindFront(graph, costs, EvictOptionsOf(options, 0),
                                    plan->schedule, plan_for);
  plan->min_budget_bytes = front.entries().begin()->first;
  const PlanFront::Entry* best =
      front.Within(std::max(budget, plan->min_budget_bytes));
  plan->schedule = WithSlack(graph, costs, budget, *best);
}

void Move(const MemoryGraph& graph, const CostModel& costs,
          const PlannerOptions& options, MemoryPlan* plan) {
  if (HasFront(plan->schedule)) {
    MoveByFront(graph, costs, options, plan);
  } else {
    MoveOnce(graph, costs, options, plan);
  }
}

// Fills what follows from the schedule.
void Finish(const MemoryGraph& graph, const CostModel& costs,
            MemoryPlan* plan) {
  const Liveness liveness = AnalyzeLiveness(graph, plan->schedule);
  plan->peak_bytes = liveness.peak_bytes();
  plan->floor_bytes = graph.FloorBytes();
  const Timeline timeline = Simulate(graph, costs, plan->schedule);
  plan->added = timeline.added;
  plan->expected_peak_bytes = ExpectedPeak(graph, plan->schedule, timeline);
  plan->feasible =
      plan->budget_bytes == 0 || plan->peak_bytes <= plan->budget_bytes;
  // A policy that moves nothing searches for nothing smaller.
  if (!plan->feasible && plan->min_budget_bytes == 0) {
    plan->min_budget_bytes = plan->peak_bytes;
  }
  plan->step_seconds = graph.StepSeconds();
  for (Position p = liveness.peak_position();
       p >= 0 && p < static_cast<Position>(plan->schedule.size()); ++p) {
    const PlanItem& item = plan->schedule[p];
    if (IsOp(item.kind)) {
      plan->limiting_op = item.id;
      break;
    }
  }
}

MemoryPlan RoutePlan(const MemoryGraph& graph, int64_t budget_bytes) {
  MemoryPlan plan;
  plan.budget_bytes = budget_bytes;
  plan.schedule = ScheduleOfRoute(BuildRoute(graph));
  plan.route_peak_bytes = PeakOf(graph, plan.schedule);
  return plan;
}

// What is not known to be needed may stay while there is room.
Departure UnlessNeeded(const PlannerOptions& options) {
  return options.cache == "on" ? Departure::kWhenNeeded : Departure::kAtOnce;
}

// The same plan for every budget: that decides only whether it is feasible.
MemoryPlan MakeSegmentPlan(const MemoryGraph& graph,
                           const PlannerOptions& options,
                           const SegmentOptions& segments) {
  const CostModel costs = CostsOf(options);
  MemoryPlan plan = RoutePlan(graph, options.budget_bytes);
  plan.schedule = RecomputeSegments(graph, segments, plan.schedule);
  plan.min_budget_bytes = PeakOf(graph, plan.schedule);
  if (segments.swap_checkpoints) {
    plan.schedule = OverlapCopies(graph, costs, plan.min_budget_bytes,
                                  std::move(plan.schedule));
    plan.departure = UnlessNeeded(options);
  }
  Finish(graph, costs, &plan);
  return plan;
}

}  // namespace

CostModel CostsOf(const PlannerOptions& options) {
  CostModel costs;
  costs.link_bytes_per_s =
      static_cast<double>(options.link_bandwidth_bytes_per_s);
  // What the first tier has no room for is the exception.
  if (TiersOf(options).rfind(TierName(TierKind::kFile), 0) == 0) {
    costs.interference = 1;
    costs.copying_bytes_per_s = CostModel::kFileCopyingBytesPerSecond;
  }
  return costs;
}

bool MaySwap(const PlannerOptions& options) {
  const auto segments = SegmentOptionsOf(options);
  return segments.has_value() ? segments->swap_checkpoints
                              : options.tiers != "none";
}

bool IgnoresBudget(const PlannerOptions& options) {
  return options.policy == "vdnn_all" || options.policy == "vdnn_conv" ||
         SegmentOptionsOf(options).has_value();
}

MemoryPlan MakePlan(const MemoryGraph& graph, const PlannerOptions& options) {
  if (IsVdnn(options.policy) && options.budget_bytes > 0) {
    return MakeVdnnPlan(graph, options);
  }
  const auto segments = SegmentOptionsOf(options);
  if (segments.has_value() && options.budget_bytes > 0) {
    return MakeSegmentPlan(graph, options, *segments);
  }
  const CostModel costs = CostsOf(options);
  MemoryPlan plan = RoutePlan(graph, options.budget_bytes);
  const bool moves = options.policy != "liveness" && options.budget_bytes > 0 &&
                     plan.route_peak_bytes > options.budget_bytes;
  if (moves) Move(graph, costs, options, &plan);
  Finish(graph, costs, &plan);
  return plan;
}

MemoryPlan PlanOfSchedule(const MemoryGraph& graph,
                          const PlannerOptions& options, Schedule schedule) {
  MemoryPlan plan;
  plan.budget_bytes = options.budget_bytes;
  Route route;
  for (const PlanItem& item : schedule) {
    if (item.kind == ItemKind::kRun) route.push_back(item.id);
  }
  plan.route_peak_bytes = PeakOf(graph, ScheduleOfRoute(route));
  plan.schedule = std::move(schedule);
  Finish(graph, CostsOf(options), &plan);
  return plan;
}

MemoryPlan MakeAssumedPlan(const MemoryGraph& graph,
                           const PlannerOptions& options, OpId op) {
  const CostModel costs = CostsOf(options);
  MemoryPlan plan = RoutePlan(graph, 0);
  plan.schedule = SmallestSchedule(graph, costs, options, plan.schedule);
  const EvictOptions evict = EvictOptionsOf(options, 0);
  if (op != kNone && evict.allow_swap) {
    plan.schedule = SwapAcross(graph, evict, plan.schedule, op);
  }
  plan.departure = UnlessNeeded(options);
  Finish(graph, costs, &plan);
  return plan;
}

MemoryPlan MakeSmallestPlan(const MemoryGraph& graph,
                            const PlannerOptions& options) {
  const CostModel costs = CostsOf(options);
  MemoryPlan plan = RoutePlan(graph, 0);
  plan.schedule = SmallestSchedule(graph, costs, options, plan.schedule);
  plan.min_budget_bytes = PeakOf(graph, plan.schedule);
  plan.schedule =
      Settle(graph, costs, plan.min_budget_bytes, std::move(plan.schedule));
  plan.departure = UnlessNeeded(options);
  Finish(graph, costs, &plan);
  return plan;
}

}  // namespace sn_tf
