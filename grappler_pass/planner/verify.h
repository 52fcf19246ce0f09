// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_VERIFY_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_VERIFY_H_

#include <string>

#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Executes the plan symbolically, sharing no code with what made it: every op
// runs once and after its inputs, every read finds its value in memory, what
// is swapped in was swapped out before, nothing impure runs twice, no tier
// keeps anything, and the peak is the one that the plan states and, where the
// plan calls itself feasible, within its budget. Empty if all holds, else the
// first thing that does not.
std::string VerifyPlan(const MemoryGraph& graph, const MemoryPlan& plan);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_VERIFY_H_
