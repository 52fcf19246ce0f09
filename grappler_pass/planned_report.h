// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNED_REPORT_H_
#define SN_TF_GRAPPLER_PASS_PLANNED_REPORT_H_

#include "grappler_pass/plan_graph.h"
#include "grappler_pass/planner/options.h"
#include "grappler_pass/planner/report.h"

namespace sn_tf {

// What is told of a plan made with `options` and `knowledge`, but for its
// function and how long it took. `sizes_assumed`: those of the inputs were not
// known.
PlanReport ReportOfPlanned(const PlannedGraph& planned,
                           const PlannerOptions& options,
                           const GraphKnowledge& knowledge, bool sizes_assumed);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNED_REPORT_H_
