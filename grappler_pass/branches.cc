// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/branches.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cc/ops/names.h"
#include "grappler_pass/aliases.h"
#include "grappler_pass/control_flow.h"
#include "grappler_pass/observe_nodes.h"
#include "grappler_pass/op_traits.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/route.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

// A conditional that needs less than this is not worth an order.
constexpr int64_t kLeastOrderedBytes = 64 << 10;

std::vector<TensorInfo> InputInfos(const std::vector<TensorRef>& inputs,
                                   const MemoryGraph& memory,
                                   const TensorInfos& infos) {
  std::vector<TensorInfo> found;
  for (const TensorRef& input : inputs) {
    const auto outputs = infos.find(memory.ops[input.op].name);
    const bool known = outputs != infos.end() &&
                       input.port < static_cast<int>(outputs->second.size());
    found.push_back(known ? outputs->second[input.port] : TensorInfo());
  }
  return found;
}

// Of one op; more than may be where some are not known.
int64_t BytesOf(const NodeDef& node, const std::vector<TensorInfo>& inputs,
                const std::vector<TensorInfo>& outputs) {
  int64_t total = 0;
  for (size_t port = 0; port < outputs.size(); ++port) {
    const TensorInfo& info = outputs[port];
    const bool handed_on =
        IsVariableRead(node) ||
        AliasedInput(node, static_cast<int>(port), inputs, outputs) >= 0;
    if (!tensorflow::DataTypeCanUseMemcpy(info.dtype) || handed_on) continue;
    total += info.known() ? info.bytes() : kMostBranchBytes + 1;
  }
  return total;
}

// Holds tensors of which no shape tells the bytes.
bool MakesVariants(const NodeDef& node,
                   const std::vector<TensorInfo>& outputs) {
  return !IsControlFlow(node) && node.op() != "Identity" &&
         std::any_of(outputs.begin(), outputs.end(), [](const TensorInfo& one) {
           return one.dtype == tensorflow::DT_VARIANT;
         });
}

// What an op may need beside what it writes. Nobody has measured it, perhaps:
// as much as it reads and writes, but for those that need nothing.
int64_t WorkspaceOf(const NodeDef& node, const MemoryGraph& memory, OpId op) {
  const bool needs_none = ReusesInput(node.op()) || IsVariableRead(node) ||
                          IsStateWrite(node) || IsControlFlow(node) ||
                          memory.ops[op].writes.empty();
  return needs_none ? 0 : memory.LayerBytes(op);
}

// One branch as a graph of its own: what it reads from outside are arguments,
// whose memory is not its own.
struct BranchGraph {
  GraphDef graph;
  std::set<std::string> read_outside;  // Nodes.
};

class Bounder {
 public:
  Bounder(const GraphDef& graph, const TensorInfos& infos,
          const NestedFlow& nested, const ImportOptions& options)
      : graph_(graph),
        infos_(infos),
        nested_(nested),
        options_(options),
        inputs_(InputsOf(graph)) {
    std::vector<StepInput> inputs;
    for (int i = 0; i < graph.node_size(); ++i) {
      const NodeDef& node = graph.node(i);
      if (IsStepInput(node) && !nested.IsInterior(i)) {
        inputs.emplace_back().node = node.name();
      }
    }
    feeds_inputs_ = FeedsInputs(graph, inputs);
  }

  // The conditional with what is inside of it; on failure, *why is set.
  Conditional Bound(int group, const std::vector<int>& interior,
                    std::string* why) const {
    Conditional conditional;
    conditional.name = graph_.node(group).name();
    if (nested_.tangled.count(group) > 0) {
      *why = ", on branches that cannot be told apart, or have loops";
      return conditional;
    }
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (nested_.group[i] == group && nested_.role[i] == FlowRole::kExit) {
        conditional.exits.push_back(graph_.node(i).name());
        if (feeds_inputs_[i]) *why = ", on which the step's inputs depend";
      }
    }
    std::sort(conditional.exits.begin(), conditional.exits.end());
    if (!ExitsAreKnown(conditional.exits)) {
      *why = ", of a conditional that may hand on any size";
    }
    if (!why->empty()) return conditional;
    const bool together = nested_.together.count(group) > 0;
    for (const std::vector<int>& nodes : BranchesOf(interior)) {
      int64_t bytes = 0;
      double seconds = 0;
      Branch branch = Order(nodes, &bytes, &seconds, why);
      if (!why->empty()) return conditional;
      conditional.branches.push_back(std::move(branch));
      conditional.bytes = together ? conditional.bytes + bytes
                                   : std::max(conditional.bytes, bytes);
      conditional.seconds = std::max(conditional.seconds, seconds);
    }
    return conditional;
  }

 private:
  // The nodes of each branch, in order of name, and the branches by their
  // first: the order of nodes may vary.
  std::vector<std::vector<int>> BranchesOf(std::vector<int> interior) const {
    std::sort(interior.begin(), interior.end(), [this](int a, int b) {
      return graph_.node(a).name() < graph_.node(b).name();
    });
    std::map<int, size_t> numbers;
    std::vector<std::vector<int>> branches;
    for (const int node : interior) {
      const auto [found, added] =
          numbers.try_emplace(nested_.branch[node], branches.size());
      if (added) branches.emplace_back();
      branches[found->second].push_back(node);
    }
    return branches;
  }

  BranchGraph TakeOut(const std::vector<int>& nodes) const {
    BranchGraph branch;
    std::set<std::string> arguments;
    const std::set<int> inside(nodes.begin(), nodes.end());
    for (const int i : nodes) {
      NodeDef* const node = branch.graph.add_node();
      *node = graph_.node(i);
      node->clear_input();
      for (int k = 0; k < graph_.node(i).input_size(); ++k) {
        const NodeInput& source = inputs_[i][k];
        if (inside.count(source.node) > 0) {
          node->add_input(graph_.node(i).input(k));
        } else if (source.port >= 0) {
          const std::string argument =
              absl::StrCat(kNodePrefix, "branch/",
                           graph_.node(source.node).name(), "_", source.port);
          arguments.insert(argument);
          node->add_input(argument);
        }
      }
    }
    for (const std::string& argument : arguments) {
      NodeDef* const node = branch.graph.add_node();
      node->set_name(argument);
      node->set_op("_DeviceArg");
    }
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (inside.count(i) > 0) continue;
      for (const NodeInput& input : inputs_[i]) {
        if (input.port >= 0 && inside.count(input.node) > 0) {
          branch.read_outside.insert(graph_.node(input.node).name());
        }
      }
    }
    return branch;
  }

  bool ExitsAreKnown(const std::vector<std::string>& exits) const {
    return !exits.empty() &&
           std::all_of(exits.begin(), exits.end(), [this](const auto& exit) {
             const auto found = infos_.find(exit);
             if (found == infos_.end() || found->second.empty()) return false;
             const TensorInfo& info = found->second[0];
             return info.known() ||
                    !tensorflow::DataTypeCanUseMemcpy(info.dtype);
           });
  }

  // What it needs goes to *bytes, and how long it takes to *seconds.
  Branch Order(const std::vector<int>& nodes, int64_t* bytes, double* seconds,
               std::string* why) const {
    const BranchGraph taken = TakeOut(nodes);
    ImportOptions options;
    options.device = options_.device;
    options.fetches = {taken.read_outside.begin(), taken.read_outside.end()};
    absl::StatusOr<ImportedGraph> imported =
        ImportGraph(taken.graph, infos_, options);
    Branch branch;
    if (!imported.ok() || !imported->unsupported.empty() ||
        !SizesAreKnown(taken.graph, *imported)) {
      *why = ", on a branch that may need any memory";
      return branch;
    }
    MemoryGraph& memory = imported->memory;
    for (size_t op = 0; op < imported->node_index.size(); ++op) {
      const auto id = static_cast<OpId>(op);
      memory.ops[op].workspace_bytes =
          WorkspaceOf(taken.graph.node(imported->node_index[op]), memory, id);
    }
    const Route route = BuildRoute(memory);
    if (route.empty()) {
      *why = ", on a branch that has no order";
      return branch;
    }
    *bytes = AnalyzeLiveness(memory, ScheduleOfRoute(route)).peak_bytes();
    *seconds = memory.StepSeconds();
    branch.items = ItemsOf(taken.graph, *imported, route);
    return branch;
  }

  bool SizesAreKnown(const GraphDef& graph,
                     const ImportedGraph& imported) const {
    if (imported.unknown_outputs > 0) return false;
    for (size_t op = 0; op < imported.node_index.size(); ++op) {
      const NodeDef& node = graph.node(imported.node_index[op]);
      if (IsStepInput(node)) return false;
      if (IsResidentSource(node)) continue;
      const auto found = infos_.find(node.name());
      const size_t known = found == infos_.end() ? 0 : found->second.size();
      if (imported.output_buffer[op].size() > known || CallsFunction(node) ||
          (known > 0 && MakesVariants(node, found->second))) {
        return false;
      }
    }
    return true;
  }

  static std::vector<BranchItem> ItemsOf(const GraphDef& graph,
                                         const ImportedGraph& imported,
                                         const Route& route) {
    std::vector<BranchItem> items;
    for (const OpId op : route) {
      if (static_cast<size_t>(op) >= imported.node_index.size()) {
        const Conditional* const nested = imported.ConditionalAt(op);
        if (nested != nullptr) items.push_back({"", false, {*nested}});
        continue;
      }
      if (!imported.memory.TouchesMemory(op) ||
          !imported.placement[op].on_device || imported.LeavesOrdered(op)) {
        continue;
      }
      const NodeDef& node = graph.node(imported.node_index[op]);
      items.push_back({node.name(), IsStateWrite(node), {}});
    }
    return items;
  }

  const GraphDef& graph_;
  const TensorInfos& infos_;
  const NestedFlow& nested_;
  const ImportOptions& options_;
  const std::vector<std::vector<NodeInput>> inputs_;
  std::vector<bool> feeds_inputs_;  // By node.
};

// What is inside of one conditional.
struct Interior {
  std::vector<int> nodes;
  int64_t total_bytes = 0;        // If all that it allocates were held at once.
  const NodeDef* most = nullptr;  // Allocates most.
  int64_t most_bytes = -1;
};

std::map<std::string, Interior> InteriorsOf(const GraphDef& graph,
                                            const TensorInfos& infos,
                                            const NestedFlow& nested,
                                            const ImportedGraph& imported) {
  std::map<std::string, Interior> interiors;
  for (size_t i = 0; i < imported.role.size(); ++i) {
    const int index = imported.node_index[i];
    if (!nested.IsInterior(index)) continue;
    const NodeDef& node = graph.node(index);
    Interior& interior = interiors[graph.node(nested.group[index]).name()];
    interior.nodes.push_back(index);
    const auto outputs = infos.find(node.name());
    if (nested.in_loop[index] || outputs == infos.end()) continue;
    const int64_t bytes =
        BytesOf(node, InputInfos(imported.inputs[i], imported.memory, infos),
                outputs->second);
    interior.total_bytes += bytes;
    if (bytes > interior.most_bytes) {
      interior.most = &node;
      interior.most_bytes = bytes;
    }
  }
  return interiors;
}

}  // namespace

void BoundBranches(const GraphDef& graph, const TensorInfos& infos,
                   const NestedFlow& nested, const ImportOptions& options,
                   ImportedGraph* imported) {
  const std::map<std::string, Interior> interiors =
      InteriorsOf(graph, infos, nested, *imported);
  if (interiors.empty() || !imported->unsupported.empty()) return;
  const Bounder bounder(graph, infos, nested, options);
  for (const auto& [name, interior] : interiors) {
    std::string why;
    if (interior.total_bytes > kLeastOrderedBytes) {
      const int group = nested.group[interior.nodes[0]];
      Conditional bound = bounder.Bound(group, interior.nodes, &why);
      if (why.empty()) {
        imported->conditionals.push_back(std::move(bound));
        continue;
      }
    }
    imported->memory.resident_bytes += interior.total_bytes;
    if (interior.total_bytes > kMostBranchBytes &&
        imported->unsupported.empty()) {
      imported->unsupported = LeftAsItIs(*interior.most, why);
    }
  }
}

}  // namespace sn_tf
