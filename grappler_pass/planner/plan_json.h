// SPDX-License-Identifier: Apache-2.0
//
// Planning from text to text, for programs that compare planners: a graph comes
// in as grappler_pass/planner/graph_json.h has it, and what a plan of it comes
// to goes out.
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_PLAN_JSON_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_PLAN_JSON_H_

#include <string>
#include <string_view>

#include "grappler_pass/planner/options.h"

namespace sn_tf {

// These return a JSON object. Its `error` is empty, or says what is wrong with
// what was received, and is all there is then. Otherwise:
//   rejected           what VerifyPlan says of the plan; empty: it holds
//   feasible budget_bytes peak_bytes route_peak_bytes floor_bytes
//   min_budget_bytes   0 where it was not needed
//   limiting_op        an id, or -1
//   step_seconds       of the route alone
//   recompute_seconds stall_seconds interference_seconds apart_seconds
//   added_seconds      all of these
//   costs              link_bytes_per_s interference copying_bytes_per_s, as
//                      planner/cost.h has them
//   schedule           an array [kind, id] each, with the kinds of plan.h: run
//                      recompute swap_out swap_wait swap_in

// The plan that `options` make of the graph.
std::string PlanGraphText(std::string_view graph,
                          const PlannerOptions& options);

// What a plan of `schedule`, an array as above, comes to.
std::string PlanOfScheduleText(std::string_view graph,
                               const PlannerOptions& options,
                               std::string_view schedule);

// With that error.
std::string PlanErrorText(const std::string& error);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PLAN_JSON_H_
