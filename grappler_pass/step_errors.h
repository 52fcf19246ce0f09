// SPDX-License-Identifier: Apache-2.0
//
// What planned steps fail with when memory does not suffice.
#ifndef SN_TF_GRAPPLER_PASS_STEP_ERRORS_H_
#define SN_TF_GRAPPLER_PASS_STEP_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "cc/allocator/arena_allocator.h"
#include "cc/allocator/out_of_memory.h"
#include "grappler_pass/plan_graph.h"

namespace sn_tf {

// By this prefix Python knows the error.
inline constexpr char kInfeasible[] = "sn_tf: infeasible budget";

// Why the plan cannot be met: budget, smallest budget, the op that sets it,
// and what to do. Begins with kInfeasible.
std::string InfeasibleMessage(const PlannedGraph& planned);

// Of a step that gets no further than its beginning, because of that.
absl::Status StepRefused(const std::string& verdict);

// Of a step whose inputs the present plan has no room for, but another has.
absl::Status LargerThanPlanned(int64_t needed_bytes, int64_t budget_bytes);

// Of a step that was refused memory of `arena`, which keeps the message. It
// comes after that of `verdict` where no plan would have done.
absl::Status RanOutOfMemory(ArenaAllocator* arena, const Refusal& refused,
                            PlannedStep step, const std::string& verdict = "");

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_STEP_ERRORS_H_
