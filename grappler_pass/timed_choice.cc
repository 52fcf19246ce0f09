// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/timed_choice.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace sn_tf {
namespace {

// A new plan must save this share of a step, and in so many steps what a new
// instance costs.
constexpr double kWorthShare = 0.01;
constexpr int kStepsToPayBack = 100;

bool IsWorthIt(const MemoryPlan& present, const MemoryPlan& next,
               double instance_seconds) {
  if (!next.feasible) return false;
  // More may be in use than when the present plan was made.
  if (!present.feasible) return true;
  const double gain = present.added.total() - next.added.total();
  return gain > kWorthShare * present.step_seconds &&
         gain * kStepsToPayBack > instance_seconds;
}

}  // namespace

bool TimesWouldHelp(const PlannedGraph& planned, const std::string& device) {
  // Executors see when a GPU's kernels begin, not how long they take.
  if (absl::StartsWith(device, "GPU") || !planned.plan.feasible) return false;
  const Schedule& schedule = planned.plan.schedule;
  return std::any_of(
      schedule.begin(), schedule.end(),
      [](const PlanItem& item) { return item.kind != ItemKind::kRun; });
}

absl::StatusOr<TimedChoice> ChooseByTimes(
    const tensorflow::grappler::GrapplerItem& item,
    const PlannerOptions& options, const GraphKnowledge& knowledge,
    const NamedSchedule& present, double instance_seconds) {
  TimedChoice choice;
  absl::StatusOr<PlannedGraph> now = PlanOf(item, options, knowledge, present);
  if (!now.ok()) return now.status();
  const absl::StatusOr<PlannedGraph> next = PlanGraph(item, options, knowledge);
  if (!next.ok()) return next.status();
  choice.present = *std::move(now);
  choice.present.plan.min_budget_bytes = next->plan.min_budget_bytes;
  choice.replace = IsWorthIt(choice.present.plan, next->plan, instance_seconds);
  return choice;
}

}  // namespace sn_tf
