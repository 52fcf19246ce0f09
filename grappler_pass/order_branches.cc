// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/order_branches.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "grappler_pass/control_inputs.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;
using Names = std::vector<std::string>;

// What is on a branch may wait for what is outside of it. Nothing outside may
// wait for what is on it, which may never run, but for the Merge nodes: they
// wait for what they wait for by control whether that runs or not.
class Orderer {
 public:
  Orderer(WriteGates* gates, GraphDef* graph) : gates_(*gates), graph_(*graph) {
    for (int i = 0; i < graph->node_size(); ++i) {
      index_[graph->node(i).name()] = i;
    }
  }

  Names Order(const Conditional& conditional, Names before) {
    for (const Branch& branch : conditional.branches) {
      const Names last = OrderBranch(branch, before);
      if (branch.items.empty()) continue;
      for (const std::string& exit : conditional.exits) {
        for (const std::string& node : last) WaitFor(node, Node(exit));
      }
    }
    before.insert(before.end(), conditional.exits.begin(),
                  conditional.exits.end());
    return before;
  }

 private:
  NodeDef* Node(const std::string& name) {
    return graph_.mutable_node(index_.at(name));
  }

  // Returns what comes last on it.
  Names OrderBranch(const Branch& branch, Names before) {
    std::string gate;
    for (const BranchItem& item : branch.items) {
      if (!item.nested.empty()) {
        before = Order(item.nested[0], std::move(before));
        gate.clear();
        continue;
      }
      NodeDef* const node = Node(item.node);
      if (item.writes_state && gates_.are_wanted()) {
        if (gate.empty()) gate = gates_.Add(before);
        WaitFor(gate, node);
      } else {
        gate.clear();
      }
      for (const std::string& one : before) WaitFor(one, node);
      before = {item.node};
    }
    return before;
  }

  WriteGates& gates_;
  GraphDef& graph_;
  absl::flat_hash_map<std::string, int> index_;
};

}  // namespace

Names OrderBranches(const Conditional& conditional, Names before,
                    WriteGates* gates, GraphDef* graph) {
  return Orderer(gates, graph).Order(conditional, std::move(before));
}

}  // namespace sn_tf
