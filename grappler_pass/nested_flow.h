// SPDX-License-Identifier: Apache-2.0
//
// Loops and conditionals inside a step.
//
// What is in them runs when TensorFlow likes, as often as it likes. A plan
// leaves it alone, but goes by what enters and leaves: what enters stays where
// it is until all has left, and what is allocated meanwhile counts as resident.
// What a loop allocates is measured. A branch may not be taken in the step that
// is measured, so only those are planned around that can need next to nothing.
#ifndef SN_TF_GRAPPLER_PASS_NESTED_FLOW_H_
#define SN_TF_GRAPPLER_PASS_NESTED_FLOW_H_

#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

enum class FlowRole {
  kPlain,     // Outside.
  kEntry,     // Switch or Enter, which hands what is outside to what is inside.
  kInterior,  // Inside.
  kExit,      // Merge or Exit, which hands what is inside to what is outside.
};

struct NestedFlow {
  std::vector<FlowRole> role;  // Per node of the graph.
  // Per node: the loop or conditional that it is of; -1: none.
  std::vector<int> group;
  std::vector<bool> in_loop;  // Per node.
  // Why the graph cannot be planned; empty: it can be.
  std::string unsupported;

  bool IsInterior(int node) const { return role[node] == FlowRole::kInterior; }
};

// Why control flow at `node` keeps its graph from being planned.
std::string LeftAsItIs(const tensorflow::NodeDef& node, const std::string& why);

NestedFlow FindNestedFlow(const tensorflow::GraphDef& graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_NESTED_FLOW_H_
