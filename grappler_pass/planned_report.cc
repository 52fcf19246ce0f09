// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planned_report.h"

#include <algorithm>
#include <cstdint>

#include "grappler_pass/moved_state.h"
#include "grappler_pass/step_errors.h"

namespace sn_tf {
namespace {

// Memory that is kept free, where a plan can do with less.
void LeaveOut(int64_t spare_bytes, PlanReport* report) {
  for (int64_t* bytes : {&report->stock_peak_bytes, &report->planned_peak_bytes,
                         &report->expected_peak_bytes, &report->floor_bytes,
                         &report->resident_bytes, &report->min_budget_bytes}) {
    *bytes = std::max<int64_t>(0, *bytes - spare_bytes);
  }
}

}  // namespace

PlanReport ReportOfPlanned(const PlannedGraph& planned,
                           const PlannerOptions& options,
                           const GraphKnowledge& knowledge,
                           bool sizes_assumed) {
  PlanReport report = ReportOf(planned.imported.memory, planned.plan);
  ReportMovedState(planned.imported, planned.plan.schedule, &report);
  report.device = options.device;
  report.policy = options.policy;
  report.budget_bytes = options.budget_bytes;
  report.generation = options.generation;
  report.measured = knowledge.measured();
  report.timed = knowledge.op_seconds.has_value();
  report.ops = static_cast<int64_t>(planned.imported.node_index.size());
  if (report.measured) LeaveOut(planned.imported.spare_bytes, &report);
  if (!planned.plan.feasible) {
    report.reason = InfeasibleMessage(planned);
  } else if (sizes_assumed) {
    report.reason =
        "the sizes of the inputs are not known yet: these are "
        "numbers for assumed ones";
  }
  return report;
}

}  // namespace sn_tf
