// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_CC_RANDOM_GRAPH_H_
#define SN_TF_TESTS_CC_RANDOM_GRAPH_H_

#include <cstdint>

#include "grappler_pass/planner/graph.h"

namespace sn_tf {

// A training step of `layers` layers with random sizes, skip connections,
// views of overwritten variables, impure ops, workspaces and fused pairs:
// forward ops, then backward ops that read what the forward ops wrote, and
// weight updates. The same seed gives the same graph.
MemoryGraph RandomTrainingGraph(uint32_t seed, int layers);

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_RANDOM_GRAPH_H_
