// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/cycle.h"

#include "grappler_pass/control_flow.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;

bool EndsIteration(const tensorflow::NodeDef& node) {
  return node.op() == "NextIteration" || node.op() == "RefNextIteration";
}

class Finder {
 public:
  explicit Finder(const GraphDef& graph)
      : graph_(graph),
        inputs_(InputsOf(graph)),
        missing_(graph.node_size(), 0) {}

  std::vector<std::string> Find() {
    RunAll();
    for (int node = 0; node < graph_.node_size(); ++node) {
      if (missing_[node] > 0) return Follow(node);
    }
    return {};
  }

 private:
  bool Counts(const NodeInput& input) const {
    return input.node >= 0 && !EndsIteration(graph_.node(input.node));
  }

  // Runs each node whose inputs have run; `missing_` stays above 0 for what is
  // in a cycle or waits for one.
  void RunAll() {
    std::vector<std::vector<int>> readers(graph_.node_size());
    std::vector<int> ready;
    for (int node = 0; node < graph_.node_size(); ++node) {
      for (const NodeInput& input : inputs_[node]) {
        if (!Counts(input)) continue;
        ++missing_[node];
        readers[input.node].push_back(node);
      }
      if (missing_[node] == 0) ready.push_back(node);
    }
    while (!ready.empty()) {
      const int node = ready.back();
      ready.pop_back();
      for (const int reader : readers[node]) {
        if (--missing_[reader] == 0) ready.push_back(reader);
      }
    }
  }

  // From a node that never ran to one that it waits for, until one comes again.
  std::vector<std::string> Follow(int node) const {
    std::vector<int> path;
    std::vector<int> place(graph_.node_size(), -1);
    while (place[node] < 0) {
      place[node] = static_cast<int>(path.size());
      path.push_back(node);
      node = MissingInput(node);
    }
    std::vector<std::string> names;
    for (size_t i = place[node]; i < path.size(); ++i) {
      names.push_back(graph_.node(path[i]).name());
    }
    return names;
  }

  int MissingInput(int node) const {
    for (const NodeInput& input : inputs_[node]) {
      if (Counts(input) && missing_[input.node] > 0) return input.node;
    }
    return node;  // Not reached: what is missing something waits for something.
  }

  const GraphDef& graph_;
  const std::vector<std::vector<NodeInput>> inputs_;
  std::vector<int> missing_;  // Per node: inputs that have not run.
};

}  // namespace

std::vector<std::string> FindCycle(const GraphDef& graph) {
  return Finder(graph).Find();
}

}  // namespace sn_tf
