// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_CYCLE_H_
#define SN_TF_GRAPPLER_PASS_CYCLE_H_

#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// The names of nodes that wait for one another, each for the next and the last
// for the first; empty where there are none. Loops, which go through
// NextIteration, do not count. Linear in the size of the graph.
std::vector<std::string> FindCycle(const tensorflow::GraphDef& graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_CYCLE_H_
