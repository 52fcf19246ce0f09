// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_ROUTE_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_ROUTE_H_

#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Orders the ops (paper, Algorithm 1, made memory-aware): depth-first from the
// sinks, shallow ones first, also among what the end of the step gathers, so
// that a weight update follows its gradient; then, among the ops whose inputs
// exist, one that frees more than it writes goes before the depth-first order.
// Partners are adjacent. Empty where the graph has a cycle. Deterministic.
Route BuildRoute(const MemoryGraph& graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_ROUTE_H_
