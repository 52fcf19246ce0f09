// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/nested_flow.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "grappler_pass/control_flow.h"
#include "grappler_pass/op_traits.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

class Finder {
 public:
  explicit Finder(const GraphDef& graph)
      : graph_(graph), inputs_(InputsOf(graph)), flow_(graph) {
    result_.role.assign(graph.node_size(), FlowRole::kPlain);
    result_.group.assign(graph.node_size(), -1);
    result_.in_loop.assign(graph.node_size(), false);
    result_.branch.assign(graph.node_size(), -1);
  }

  NestedFlow Run() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const NodeDef& node = graph_.node(i);
      if (IsControlFlow(node) && (!flow_.valid() || !IsLowered(node))) {
        result_.unsupported = LeftAsItIs(node, "");
        return std::move(result_);
      }
    }
    FindEntriesAndInterior();
    FindExits();
    Group();
    for (const auto& [group, nodes] : Interiors()) FindBranches(group, nodes);
    return std::move(result_);
  }

 private:
  void FindEntriesAndInterior() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const NodeDef& node = graph_.node(i);
      result_.in_loop[i] = flow_.IsInLoop(flow_.ContextOf(i));
      const bool inside = flow_.ContextOf(i) != ControlFlow::kRoot;
      if (node.op() == "Enter" && ReadsFromRoot(i)) {
        result_.role[i] = FlowRole::kEntry;
      } else if (inside) {
        result_.role[i] = FlowRole::kInterior;
        if (IsStateWrite(node) && result_.in_loop[i] &&
            result_.unsupported.empty()) {
          result_.unsupported =
              LeftAsItIs(node, ", which a loop in the step runs");
        }
      } else if (node.op() == "Switch" || node.op() == "_SwitchN") {
        result_.role[i] = FlowRole::kEntry;
      }
    }
  }

  bool ReadsFromRoot(int node) const {
    return std::all_of(inputs_[node].begin(), inputs_[node].end(),
                       [this](const NodeInput& input) {
                         return flow_.ContextOfOutput(input) ==
                                ControlFlow::kRoot;
                       });
  }

  void FindExits() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const NodeDef& node = graph_.node(i);
      if (result_.role[i] != FlowRole::kPlain) continue;
      if (node.op() == "Merge" || node.op() == "Exit") {
        result_.role[i] = FlowRole::kExit;
      }
    }
  }

  bool IsInside(int node) const {
    return result_.role[node] == FlowRole::kInterior ||
           result_.role[node] == FlowRole::kEntry;
  }

  // Joins what reads from each other inside, or what leaves there.
  void Group() {
    std::vector<int> parent(graph_.node_size());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&parent](int node) {
      while (parent[node] != node) node = parent[node] = parent[parent[node]];
      return node;
    };
    for (int i = 0; i < graph_.node_size(); ++i) {
      const FlowRole role = result_.role[i];
      if (role != FlowRole::kInterior && role != FlowRole::kExit) continue;
      for (const NodeInput& input : inputs_[i]) {
        const bool by_control = input.port < 0;
        const bool of_entry = result_.role[input.node] == FlowRole::kEntry;
        if (!IsInside(input.node) || (by_control && of_entry)) continue;
        parent[root(i)] = root(input.node);
      }
    }
    // Each goes by the node with the least name: the order of nodes may vary.
    std::map<int, int> least;
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (result_.role[i] == FlowRole::kPlain) continue;
      int& first = least.try_emplace(root(i), i).first->second;
      if (graph_.node(i).name() < graph_.node(first).name()) first = i;
    }
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (result_.role[i] != FlowRole::kPlain)
        result_.group[i] = least[root(i)];
    }
  }

  // Per group: what is inside.
  std::map<int, std::vector<int>> Interiors() const {
    std::map<int, std::vector<int>> interiors;
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (result_.IsInterior(i)) interiors[result_.group[i]].push_back(i);
    }
    return interiors;
  }

  // The contexts of the nodes that no other of theirs contains.
  std::vector<int> OutermostContexts(const std::vector<int>& nodes) const {
    std::set<int> all;
    for (const int node : nodes) all.insert(flow_.ContextOf(node));
    std::vector<int> outermost;
    for (const int context : all) {
      const auto is_around = [&](int other) {
        return other != context && flow_.Contains(other, context);
      };
      if (std::none_of(all.begin(), all.end(), is_around)) {
        outermost.push_back(context);
      }
    }
    return outermost;
  }

  void FindBranches(int group, const std::vector<int>& nodes) {
    const auto loops =
        std::count_if(nodes.begin(), nodes.end(),
                      [this](int node) { return result_.in_loop[node]; });
    if (loops == static_cast<int64_t>(nodes.size())) return;
    if (loops > 0) result_.tangled.insert(group);
    const std::vector<int> branches = OutermostContexts(nodes);
    for (const int node : nodes) {
      for (const int branch : branches) {
        if (!flow_.Contains(branch, flow_.ContextOf(node))) continue;
        if (result_.branch[node] >= 0) result_.tangled.insert(group);
        result_.branch[node] = branch;
      }
    }
    for (const int a : branches) {
      for (const int b : branches) {
        if (a != b && !flow_.Exclude(a, b)) result_.together.insert(group);
      }
    }
  }

  const GraphDef& graph_;
  const std::vector<std::vector<NodeInput>> inputs_;
  const ControlFlow flow_;
  NestedFlow result_;
};

}  // namespace

std::string LeftAsItIs(const NodeDef& node, const std::string& why) {
  return absl::StrCat("control flow (", node.op(), " ", node.name(), why,
                      ") is left as it is: nothing is moved in this graph");
}

NestedFlow FindNestedFlow(const GraphDef& graph) { return Finder(graph).Run(); }

}  // namespace sn_tf
