// SPDX-License-Identifier: Apache-2.0
//
// PlanGraph: which variables move. Copies of variables are not hidden behind
// computation, so none moves as long as a plan without that meets the budget.
#include <algorithm>
#include <iterator>
#include <utility>

#include "cc/core/tier_spec.h"
#include "grappler_pass/plan_graph.h"
#include "grappler_pass/state_moves.h"

namespace sn_tf {
namespace {

using tensorflow::grappler::GrapplerItem;

// Before the sizes of a step are known, variables move where what is in use
// already is this part of the budget.
constexpr int64_t kPartInUse = 4;

// Of the number of variables that move: planning takes its time.
constexpr int kMostHalvings = 4;

// Plans for `item`, in which no variable moves, with the first `count` of
// `moves`.
absl::StatusOr<PlannedGraph> PlanMoving(const GrapplerItem& item,
                                        const PlannerOptions& options,
                                        const GraphKnowledge& knowledge,
                                        const std::vector<StateMove>& moves,
                                        size_t count) {
  tensorflow::GraphDef graph = item.graph;
  InsertStateMoves(
      moves, count,
      {AddressableTiers(TiersOf(options), options.device), options.swap_dir},
      &graph);
  const GrapplerItem moving = item.WithGraph(std::move(graph));
  absl::StatusOr<PlannedGraph> planned =
      PlanAsGiven(moving, options, knowledge);
  if (!planned.ok()) return planned;
  planned->graph = moving.graph;
  planned->moves.assign(moves.begin(), moves.begin() + count);
  return planned;
}

// How many have to move so that as much as `missing_bytes` is out at one time;
// all where that is not enough.
size_t CountFor(const std::vector<StateMove>& moves, int64_t missing_bytes) {
  size_t count = 0;
  while (count < moves.size() && missing_bytes > 0) {
    missing_bytes -= moves[count++].bytes;
  }
  return count;
}

bool MayMoveState(const PlannerOptions& options) {
  return options.budget_bytes > 0 &&
         (options.policy == "auto" || options.policy == "swap") &&
         !AddressableTiers(TiersOf(options), options.device).empty();
}

// Whether the plan was made for assumed sizes, whatever the budget.
bool IgnoresBudget(const PlannedGraph& planned) {
  return planned.provisional && planned.plan.budget_bytes == 0;
}

std::vector<StateMove> SlotsOf(const std::vector<StateMove>& moves) {
  std::vector<StateMove> slots;
  std::copy_if(moves.begin(), moves.end(), std::back_inserter(slots),
               [](const StateMove& move) { return move.slot; });
  return slots;
}

// Whether the plan is for the budget, and does where so much more is resident.
bool FitsWith(int64_t more_bytes, const PlannerOptions& options,
              const PlannedGraph& planned) {
  return planned.plan.feasible && !IgnoresBudget(planned) &&
         planned.plan.peak_bytes + more_bytes <= options.budget_bytes;
}

// Slots that are zero may share memory until they are written, so that a first
// step needs more than what is in use tells. A plan for that, with all of them
// out, wherever they are now.
absl::StatusOr<PlannedGraph> PlanUnmade(const GrapplerItem& item,
                                        const PlannerOptions& options,
                                        const GraphKnowledge& knowledge,
                                        const std::vector<StateMove>& moves,
                                        const std::vector<StateMove>& slots) {
  GraphKnowledge unmade = knowledge;
  unmade.in_use_bytes += BytesOf(slots);
  return PlanMoving(item, options, unmade, moves, slots.size());
}

// Of the plans between `planned`, which is feasible, and one that moves only
// `too_few`, a feasible one that moves about as few as can be.
absl::StatusOr<PlannedGraph> Fewest(const GrapplerItem& item,
                                    const PlannerOptions& options,
                                    const GraphKnowledge& knowledge,
                                    const std::vector<StateMove>& moves,
                                    size_t too_few, PlannedGraph planned) {
  // With none too few, the first guess was enough.
  for (int i = 0; i < kMostHalvings && too_few > 0; ++i) {
    const size_t middle = (too_few + planned.moves.size()) / 2;
    if (middle == too_few) break;
    absl::StatusOr<PlannedGraph> fewer =
        PlanMoving(item, options, knowledge, moves, middle);
    if (!fewer.ok()) return fewer;
    if (fewer->plan.feasible) {
      planned = *std::move(fewer);
    } else {
      too_few = middle;
    }
  }
  return planned;
}

// The first of `moves` that have to move are those of the returned plan.
absl::StatusOr<PlannedGraph> MoveAsNeeded(const GrapplerItem& item,
                                          const PlannerOptions& options,
                                          const GraphKnowledge& knowledge,
                                          const std::vector<StateMove>& moves,
                                          absl::StatusOr<PlannedGraph> planned,
                                          bool brings_back) {
  size_t count = 0;
  if (IgnoresBudget(*planned)) {
    const int64_t resident =
        planned->imported.memory.resident_bytes + BytesOf(SlotsOf(moves));
    if (resident * kPartInUse >= options.budget_bytes) {
      count = SlotsOf(moves).size();
    }
  } else if (!planned->plan.feasible) {
    count = std::max<size_t>(
        1, CountFor(moves, planned->plan.peak_bytes - options.budget_bytes));
  }
  if (count == 0 && !brings_back) return planned;
  size_t too_few = 0;
  while (true) {
    planned = PlanMoving(item, options, knowledge, moves, count);
    if (!planned.ok()) return planned;
    if (planned->plan.feasible || count == moves.size()) break;
    too_few = count;
    count = std::min(2 * std::max<size_t>(count, 1), moves.size());
  }
  if (!planned->plan.feasible) return planned;
  return Fewest(item, options, knowledge, moves, too_few, *std::move(planned));
}

}  // namespace

absl::StatusOr<PlannedGraph> PlanGraph(const GrapplerItem& item,
                                       const PlannerOptions& options,
                                       const GraphKnowledge& knowledge) {
  std::optional<GrapplerItem> without;
  if (!MovedVariables(options.device, item.graph).empty()) {
    tensorflow::GraphDef graph = item.graph;
    RemoveStateMoves(options.device, &graph);
    without = item.WithGraph(std::move(graph));
  }
  const GrapplerItem& still = without.has_value() ? *without : item;
  absl::StatusOr<PlannedGraph> planned = PlanAsGiven(still, options, knowledge);
  const bool is_out =
      knowledge.state_outside_bytes > 0 || !knowledge.profiled_moves.empty();
  if (!planned.ok() || !planned->imported.unsupported.empty() ||
      !MayMoveState(options) ||
      (knowledge.profile.has_value() && planned->plan.feasible && !is_out)) {
    return planned;
  }
  const std::vector<StateMove> moves =
      FindStateMoves(still.graph, planned->imported, options.min_buffer_bytes);
  if (moves.empty()) return planned;
  GraphKnowledge all = knowledge;
  if (knowledge.profile.has_value()) {
    all.unexplained_bytes = planned->imported.unexplained_bytes;
  } else if (!IgnoresBudget(*planned) && !is_out) {
    const std::vector<StateMove> slots = SlotsOf(moves);
    if (FitsWith(BytesOf(slots), options, *planned)) return planned;
    auto moving = PlanUnmade(still, options, knowledge, moves, slots);
    if (!moving.ok() || moving->plan.feasible) return moving;
  }
  const int64_t with_state =
      knowledge.in_use_now_bytes +
      std::min(knowledge.state_outside_bytes, BytesOf(moves));
  if (with_state > knowledge.in_use_bytes) {
    // What this graph has out is in use, too, unless it moves.
    all.in_use_bytes = with_state;
    planned = PlanAsGiven(still, options, all);
    if (!planned.ok()) return planned;
  }
  return MoveAsNeeded(still, options, all, moves, std::move(planned), is_out);
}

}  // namespace sn_tf
