// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_MEASURED_SECONDS_H_
#define SN_TF_GRAPPLER_PASS_MEASURED_SECONDS_H_

#include "grappler_pass/op_timer.h"
#include "grappler_pass/planner/graph.h"

namespace sn_tf {

// Puts measured times in the place of estimates. An op that was not timed
// keeps its estimate, unless it is one of two partners (see Op::partner): then
// it ran as a part of the other.
void SetMeasuredSeconds(const OpSeconds& measured, MemoryGraph* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_MEASURED_SECONDS_H_
