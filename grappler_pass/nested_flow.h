// SPDX-License-Identifier: Apache-2.0
//
// Loops and conditionals inside a step.
//
// A plan goes by what enters and leaves: what enters stays where it is until
// all has left. What is in a loop runs when TensorFlow likes, as often as it
// likes; what it allocates is measured, and counts as resident. A branch may
// not be taken in the step that is measured: it gets an order of its own, from
// which follows what it may need (branches.h).
#ifndef SN_TF_GRAPPLER_PASS_NESTED_FLOW_H_
#define SN_TF_GRAPPLER_PASS_NESTED_FLOW_H_

#include <set>
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
  // Per node inside: which of its group's branches it is on, of what decides
  // first. Numbers of any kind; -1: in a loop.
  std::vector<int> branch;
  std::set<int> together;  // Groups of which more than one branch may run.
  std::set<int> tangled;   // Groups whose branches have nodes in common, or
                           // loops.
  // Why the graph cannot be planned; empty: it can be.
  std::string unsupported;

  bool IsInterior(int node) const { return role[node] == FlowRole::kInterior; }
};

// Why control flow at `node` keeps its graph from being planned.
std::string LeftAsItIs(const tensorflow::NodeDef& node, const std::string& why);

NestedFlow FindNestedFlow(const tensorflow::GraphDef& graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_NESTED_FLOW_H_
