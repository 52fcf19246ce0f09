// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_ORDER_BRANCHES_H_
#define SN_TF_GRAPPLER_PASS_ORDER_BRANCHES_H_

#include <string>
#include <vector>

#include "grappler_pass/conditional.h"
#include "grappler_pass/write_gates.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Makes the branches of `conditional` run in their order, after the nodes
// `before`, and writes on them wait for gates of their own. Returns what a node
// has to wait for that comes after all of it.
std::vector<std::string> OrderBranches(const Conditional& conditional,
                                       std::vector<std::string> before,
                                       WriteGates* gates,
                                       tensorflow::GraphDef* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_ORDER_BRANCHES_H_
