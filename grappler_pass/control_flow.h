// SPDX-License-Identifier: Apache-2.0
//
// Under which conditions each node of a graph runs.
//
// The *context* of a node is the loops that it is in and the branches that it
// is on. Nodes of one context run together, in each iteration all or none, so
// that among them control edges mean what they mean in a graph without control
// flow. From a branch to the outside they do not: where the branch is not
// taken, what waits for it would not run either.
#ifndef SN_TF_GRAPPLER_PASS_CONTROL_FLOW_H_
#define SN_TF_GRAPPLER_PASS_CONTROL_FLOW_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// An input of a node: another, by index in the graph, and its output. Port -1:
// by control; node -1: there is no such node.
struct NodeInput {
  int node = -1;
  int port = -1;
};

// The inputs of each node, in order.
std::vector<std::vector<NodeInput>> InputsOf(const tensorflow::GraphDef& graph);

// The contexts of a graph's nodes, after TensorFlow has lowered its loops and
// conditionals to Switch, Merge, Enter, Exit and NextIteration.
class ControlFlow {
 public:
  // Outside of all loops and branches.
  static constexpr int kRoot = 0;

  explicit ControlFlow(const tensorflow::GraphDef& graph);

  // False where nodes depend on each other in a circle that is no loop, or on
  // what is no node.
  bool valid() const { return valid_; }

  // Of a node, by its index in the graph.
  int ContextOf(int node) const { return context_[node]; }

  bool IsInLoop(int context) const;

  // Whether it is what a loop repeats, and on no branch within it.
  bool IsLoopBody(int context) const;

  // Number of contexts; they are 0, 1, ...
  int size() const { return static_cast<int>(conditions_.size()); }

  // Of what reads this output and nothing else.
  int ContextOfOutput(const NodeInput& input) const;

  // Whether what is in `inner` runs only where `outer` does.
  bool Contains(int outer, int inner) const;

  // Whether the two are on different sides of what one predicate decides.
  bool Exclude(int a, int b) const;

 private:
  // A loop's frame, or one side of what a predicate decides; ascending.
  using Conditions = std::vector<int>;

  int Intern(Conditions conditions);
  int ConditionOf(const std::string& what, int side);
  int Union(int a, int b);
  int Intersection(int a, int b);
  void NoteOutput(const NodeInput& input);
  int Compute(int node);
  int Enter(const tensorflow::NodeDef& node, int outside);
  int Exit(int inside) const;

  const tensorflow::GraphDef& graph_;
  const std::vector<std::vector<NodeInput>> inputs_;
  bool valid_ = true;
  std::vector<int> context_;
  // Per Switch that was read, the context of each of its outputs.
  std::map<std::pair<int, int>, int> of_output_;
  std::vector<Conditions> conditions_;  // Of each context.
  std::map<Conditions, int> contexts_;
  std::map<std::pair<std::string, int>, int> condition_ids_;
  // Per condition: its frame's name or its predicate, and its side.
  std::vector<std::pair<std::string, int>> condition_of_;
  std::set<int> goes_on_;       // Conditions under which loops go on.
  std::map<int, int> outside_;  // Per frame: the context around it.
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_CONTROL_FLOW_H_
