// SPDX-License-Identifier: Apache-2.0
//
// The policies of vDNN (arXiv 1602.08124, section III.C), which offload whole
// kinds of buffers whatever the budget, for comparison.
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_VDNN_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_VDNN_H_

#include <string>

#include "grappler_pass/planner/options.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// "vdnn_all", "vdnn_conv" and "vdnn_dyn". They recompute nothing.
bool IsVdnn(const std::string& policy);

// A plan for a budget (not 0). vdnn_all: every buffer that is idle leaves.
// vdnn_conv: of these only what convolutions read in the forward pass, whose
// run times hide copies best. vdnn_dyn: the first of nothing, vdnn_conv and
// vdnn_all that meets the budget. Where it is not met the plan is not
// feasible, and what the policy can meet is its min_budget_bytes.
MemoryPlan MakeVdnnPlan(const MemoryGraph& graph,
                        const PlannerOptions& options);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_VDNN_H_
