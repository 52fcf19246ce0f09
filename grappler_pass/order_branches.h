// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_ORDER_BRANCHES_H_
#define SN_TF_GRAPPLER_PASS_ORDER_BRANCHES_H_

#include <functional>
#include <string>
#include <vector>

#include "grappler_pass/conditional.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Adds a node that waits for the given ones, and without whose consent no
// state is written; returns its name. Empty: writes need no consent.
using AddGateFn = std::function<std::string(const std::vector<std::string>&)>;

// Makes the branches of `conditional` run in their order, after the nodes
// `before`. Returns what a node has to wait for that comes after all of it.
std::vector<std::string> OrderBranches(const Conditional& conditional,
                                       std::vector<std::string> before,
                                       const AddGateFn& add_gate,
                                       tensorflow::GraphDef* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_ORDER_BRANCHES_H_
