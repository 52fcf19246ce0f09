// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_SWAP_ACROSS_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_SWAP_ACROSS_H_

#include "grappler_pass/planner/evict.h"
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Swaps out, from its last use before `op` to its first use after, all that is
// only held meanwhile and may move. For plans at assumed sizes: what is small
// beside those may be large beside the true ones.
Schedule SwapAcross(const MemoryGraph& graph, const EvictOptions& options,
                    const Schedule& schedule, OpId op);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_SWAP_ACROSS_H_
