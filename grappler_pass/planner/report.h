// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_REPORT_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/core/json.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// One idle window that the plan empties; "state": that of a variable, from one
// step to the next.
struct ReportAction {
  std::string action;  // "swap", "recompute" or "state".
  std::string buffer;
  int64_t bytes = 0;
  std::string from_op;  // Last to use the buffer before it leaves.
  std::string to_op;    // First to use it when it is back.
};

// What the planner did with one function, for people; see SnTfSessionReports
// in cc/capi/capi.h for the fields.
struct PlanReport {
  std::string function;
  std::string device;  // Whose memory is planned.
  bool feasible = false;
  std::string policy;
  int64_t budget_bytes = 0;
  int64_t stock_peak_bytes = 0;
  int64_t planned_peak_bytes = 0;
  int64_t expected_peak_bytes = 0;
  int64_t floor_bytes = 0;
  int64_t resident_bytes = 0;
  int64_t min_budget_bytes = 0;
  std::string limiting_op;
  AddedTime added;
  double step_seconds = 0;
  bool measured = false;  // Sizes and workspaces.
  bool timed = false;     // Times of ops.
  int64_t generation = 0;
  int64_t swapped_bytes = 0;  // Copied out per step.
  int64_t swapped_buffers = 0;
  int64_t recomputed_ops = 0;
  int64_t state_bytes = 0;  // Of variables that are out but for their use.
  int64_t state_buffers = 0;
  int64_t ops = 0;  // Nodes of the graph that was planned.
  double plan_seconds = 0;
  std::string reason;  // Why nothing was moved, or why it cannot be.
  std::vector<ReportAction> actions;
};

// The report of a plan; the caller adds function, device, policy, costs,
// generation, ops, plan_seconds and reason.
PlanReport ReportOf(const MemoryGraph& graph, const MemoryPlan& plan);

void WriteJson(const PlanReport& report, JsonWriter* json);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_REPORT_H_
