// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/step_errors.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/core/bytes.h"

namespace sn_tf {

std::string InfeasibleMessage(const PlannedGraph& planned) {
  const MemoryPlan& plan = planned.plan;
  const std::string op =
      plan.limiting_op == kNone
          ? "no op"
          : absl::StrCat(
                planned.imported.memory.ops[plan.limiting_op].name, " (",
                planned.imported.memory.ops[plan.limiting_op].type, ")");
  return absl::StrCat(
      kInfeasible, ": received a budget of ", FormatBytes(plan.budget_bytes),
      " (", plan.budget_bytes, " bytes); the smallest feasible budget is ",
      planned.provisional ? "at least " : "", FormatBytes(plan.peak_bytes),
      " (", plan.peak_bytes, " bytes), set by op ", op,
      ". Raise the budget to at least that, train with a smaller batch, or use "
      "smaller inputs.");
}

absl::Status StepRefused(const std::string& verdict) {
  return absl::ResourceExhaustedError(
      absl::StrCat(verdict, " No weight was changed in this step."));
}

absl::Status LargerThanPlanned(int64_t needed_bytes, int64_t budget_bytes) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "The inputs of this step are larger than those of any before it. The "
      "present plan would need ",
      FormatBytes(needed_bytes), " (", needed_bytes,
      " bytes) for them, of a budget of ", FormatBytes(budget_bytes), " (",
      budget_bytes,
      " bytes). The step did not run, and no weight was changed. The next step "
      "is planned for inputs of this size: go on training, and let the largest "
      "inputs come first."));
}

absl::Status RanOutOfMemory(ArenaAllocator* arena, const Refusal& refused,
                            PlannedStep step, const std::string& verdict) {
  std::string message = MessageOf({arena->Name(), refused, std::move(step)});
  if (!verdict.empty()) message = absl::StrCat(verdict, "\n", message);
  arena->refusal_log()->Keep(message);
  return absl::ResourceExhaustedError(message);
}

}  // namespace sn_tf
