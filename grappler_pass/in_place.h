// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_IN_PLACE_H_
#define SN_TF_GRAPPLER_PASS_IN_PLACE_H_

#include "grappler_pass/import.h"
#include "grappler_pass/planner/plan.h"
#include "grappler_pass/step_profile.h"

namespace sn_tf {

// Fills Op::in_place from what is known of the types of ops.
void AssumeInPlace(ImportedGraph* imported);

// Corrects that after a finished step which ran `schedule`. An op that
// allocated nothing for what it wrote took the memory of an input, which is one
// of those of that size that nobody read after it. Where there were none, what
// others of its type have done tells whether what was assumed stands.
void FindInPlace(const StepProfile& profile, const Schedule& schedule,
                 ImportedGraph* imported);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_IN_PLACE_H_
