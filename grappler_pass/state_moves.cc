// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/state_moves.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cc/core/tier_spec.h"
#include "cc/ops/names.h"
#include "grappler_pass/control_inputs.h"
#include "grappler_pass/op_traits.h"
#include "grappler_pass/placement.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/types.pb.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

// The most that the uses of a variable may lie apart, of the longest path of
// the graph.
constexpr double kNarrowShare = 0.5;

bool IsHandle(const NodeDef& node) {
  if (node.op() == "VarHandleOp") return true;
  for (const char* const name : {"T", "dtype"}) {
    const auto found = node.attr().find(name);
    if (found == node.attr().end()) continue;
    return IsResidentSource(node) &&
           found->second.type() == tensorflow::DT_RESOURCE;
  }
  return false;
}

// Reads or writes all of a variable, and leaves it one that copies on write.
bool UsesWhole(const NodeDef& node) {
  return IsVariableRead(node) || node.op() == "AssignVariableOp" ||
         node.op() == "AssignAddVariableOp" ||
         node.op() == "AssignSubVariableOp" ||
         absl::StartsWith(node.op(), "ResourceApply");
}

// Finds the variables of a graph that may move.
class Finder {
 public:
  Finder(const GraphDef& graph, const ImportedGraph& imported,
         int64_t least_bytes)
      : graph_(graph),
        imported_(imported),
        memory_(imported.memory),
        least_bytes_(least_bytes),
        earliest_(memory_.Levels(memory_.TopologicalOrder())),
        latest_(memory_.ops.size(), 0) {
    for (const int32_t level : earliest_) longest_ = std::max(longest_, level);
    const std::vector<OpId> order = memory_.TopologicalOrder();
    latest_ = earliest_;
    const std::vector<std::vector<OpId>> next = memory_.Successors();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      if (next[*op].empty()) continue;
      latest_[*op] = longest_;
      for (const OpId after : next[*op]) {
        latest_[*op] = std::min(latest_[*op], latest_[after] - 1);
      }
    }
    FindUsers();
  }

  std::vector<StateMove> Run() const {
    std::vector<StateMove> moves;
    for (const auto& [handle, ops] : users_) {
      StateMove move;
      move.variable = memory_.ops[handle.first].name;
      if (handle.second > 0) {
        absl::StrAppend(&move.variable, ":", handle.second);
      }
      if (Describe(ops, &move)) moves.push_back(std::move(move));
    }
    std::sort(
        moves.begin(), moves.end(), [](const StateMove& a, const StateMove& b) {
          return std::tie(b.bytes, a.variable) < std::tie(a.bytes, b.variable);
        });
    return moves;
  }

 private:
  const NodeDef& Node(OpId op) const {
    return graph_.node(imported_.node_index[op]);
  }

  void FindUsers() {
    for (size_t i = 0; i < imported_.node_index.size(); ++i) {
      const auto user = static_cast<OpId>(i);
      if (Node(user).op() == "Identity") continue;
      for (TensorRef input : imported_.inputs[i]) {
        while (Node(input.op).op() == "Identity") {
          input = imported_.inputs[input.op][0];
        }
        if (!IsHandle(Node(input.op))) continue;
        std::vector<OpId>& users = users_[{input.op, input.port}];
        if (users.empty() || users.back() != user) users.push_back(user);
      }
    }
  }

  // Fills what is known of a variable from its users; false where it may not
  // move.
  bool Describe(const std::vector<OpId>& users, StateMove* move) const {
    int32_t first = longest_;
    int32_t last = 0;
    const auto use = [&](OpId op) {
      first = std::min(first, latest_[op]);
      last = std::max(last, earliest_[op]);
    };
    for (const OpId op : users) {
      if (Node(op).op() == "VarIsInitializedOp") continue;
      if (!UsesWhole(Node(op)) || !imported_.placement[op].on_device) {
        return false;
      }
      move->device = Node(op).device();
      move->users.push_back(Node(op).name());
      if (!IsVariableRead(Node(op))) {
        use(op);
        for (const TensorRef& input : imported_.inputs[op]) {
          move->bytes =
              std::max(move->bytes, BytesOf(imported_.BufferOf(input)));
        }
        continue;
      }
      const BufferId view = imported_.BufferOf({op, 0});
      if (view == kNone) return false;
      move->bytes = std::max(move->bytes, BytesOf(view));
      for (const OpId reader : memory_.buffers[view].readers) {
        // What is fetched is used after the step.
        if (reader >= static_cast<OpId>(imported_.node_index.size())) {
          return false;
        }
        if (IsResult(Node(reader))) return false;
        use(reader);
        if (!ReusesInput(Node(reader).op())) move->slot = false;
        move->readers.push_back(Node(reader).name());
      }
    }
    return move->bytes >= least_bytes_ && !move->users.empty() &&
           last - first <= kNarrowShare * longest_;
  }

  int64_t BytesOf(BufferId buffer) const {
    return buffer == kNone ? 0 : memory_.buffers[buffer].bytes;
  }

  const GraphDef& graph_;
  const ImportedGraph& imported_;
  const MemoryGraph& memory_;
  const int64_t least_bytes_;
  // Of each op: its level, and the highest that it could have.
  std::vector<int32_t> earliest_;
  std::vector<int32_t> latest_;
  int32_t longest_ = 0;
  // Of each handle, ascending.
  std::map<std::pair<OpId, int>, std::vector<OpId>> users_;
};

NodeDef StateNode(const StateMove& move, const char* op, const char* what,
                  const char* phase) {
  NodeDef node;
  node.set_name(absl::StrCat(kNodePrefix,
                             absl::StrReplaceAll(move.variable, {{":", "_"}}),
                             "/", what));
  node.set_op(op);
  node.set_device(move.device);
  node.add_input(move.variable);
  (*node.mutable_attr())[kPhaseAttr].set_s(phase);
  (*node.mutable_attr())[kBytesAttr].set_i(move.bytes);
  return node;
}

NodeDef InNode(const StateMove& move, const char* what, const char* phase) {
  NodeDef node = StateNode(move, kStateInOp, what, phase);
  (*node.mutable_attr())[kSlotAttr].set_b(move.slot);
  return node;
}

NodeDef OutNode(const StateMove& move, const StateTiers& where,
                const char* what, const char* phase) {
  NodeDef node = StateNode(move, kStateOutOp, what, phase);
  auto& attr = *node.mutable_attr();
  attr[kTiersAttr].set_s(where.tiers);
  attr[kSwapDirAttr].set_s(where.swap_dir);
  attr[kBufferAttr].set_s(move.variable);
  return node;
}

bool IsMove(const NodeDef& node, const std::string& device) {
  return (node.op() == kStateOutOp || node.op() == kStateInOp) &&
         ManagedDevice(node.device()) == device;
}

bool IsBeforeStep(const NodeDef& node) {
  return node.attr().at(kPhaseAttr).s() == kPhaseBegin;
}

}  // namespace

std::vector<StateMove> FindStateMoves(const GraphDef& graph,
                                      const ImportedGraph& imported,
                                      int64_t least_bytes) {
  return Finder(graph, imported, least_bytes).Run();
}

int64_t BytesOf(const std::vector<StateMove>& moves) {
  int64_t bytes = 0;
  for (const StateMove& move : moves) bytes += move.bytes;
  return bytes;
}

std::string AddressableTiers(const std::string& tiers,
                             const std::string& device) {
  std::vector<TierSpec> specs;
  std::string error;
  if (tiers == "none" || !ParseTierSpecs(tiers, &specs, &error)) return "";
  // The ops of accelerators reach pinned memory, and nothing beyond.
  const bool is_cpu = absl::StartsWith(device, "CPU");
  const auto is_out_of_reach = [is_cpu](const TierSpec& spec) {
    return spec.kind == TierKind::kCompressed ||
           (!is_cpu && spec.kind != TierKind::kHost);
  };
  specs.erase(std::remove_if(specs.begin(), specs.end(), is_out_of_reach),
              specs.end());
  return specs.empty() ? "" : TierSpecsText(specs);
}

void InsertStateMoves(const std::vector<StateMove>& moves, size_t count,
                      const StateTiers& where, GraphDef* graph) {
  std::map<std::string, NodeDef*> nodes;
  for (NodeDef& node : *graph->mutable_node()) nodes[node.name()] = &node;
  std::vector<NodeDef> added;
  for (size_t i = 0; i < moves.size(); ++i) {
    const StateMove& move = moves[i];
    if (i >= count) {
      added.push_back(InNode(move, "state_back", kPhaseBegin));
      continue;
    }
    added.push_back(OutNode(move, where, "state_away", kPhaseBegin));
    added.push_back(InNode(move, "state_in", kPhaseUse));
    const std::string in = added.back().name();
    NodeDef out = OutNode(move, where, "state_out", kPhaseUse);
    WaitFor(in, &out);
    for (const std::string& user : move.users) {
      const auto found = nodes.find(user);
      if (found == nodes.end()) continue;
      WaitFor(in, found->second);
      WaitFor(user, &out);
    }
    for (const std::string& reader : move.readers) WaitFor(reader, &out);
    added.push_back(std::move(out));
  }
  for (NodeDef& node : added) *graph->add_node() = std::move(node);
}

void RemoveStateMoves(const std::string& device, GraphDef* graph) {
  std::set<std::string> waits;
  auto* const nodes = graph->mutable_node();
  for (const NodeDef& node : *nodes) {
    if (IsMove(node, device)) waits.insert("^" + node.name());
  }
  if (waits.empty()) return;
  nodes->erase(std::remove_if(nodes->begin(), nodes->end(),
                              [&device](const NodeDef& node) {
                                return IsMove(node, device);
                              }),
               nodes->end());
  for (NodeDef& node : *nodes) {
    auto* const inputs = node.mutable_input();
    inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                                 [&waits](const std::string& input) {
                                   return waits.count(input) > 0;
                                 }),
                  inputs->end());
  }
}

std::set<std::string> MovedVariables(const std::string& device,
                                     const GraphDef& graph) {
  std::set<std::string> variables;
  for (const NodeDef& node : graph.node()) {
    if (node.op() == kStateOutOp && IsMove(node, device)) {
      variables.insert(node.input(0));
    }
  }
  return variables;
}

void MoveStateBeforeStep(const std::string& device, GraphDef* graph) {
  std::vector<NodeDef*> back;
  NodeDef* begin = nullptr;
  NodeDef away;
  away.set_name(absl::StrCat(kNodePrefix, "state_away"));
  away.set_op("NoOp");
  for (NodeDef& node : *graph->mutable_node()) {
    if (node.op() == kObserveOp &&
        ManagedDevice(node.attr().at(kOfDeviceAttr).s()) == device &&
        node.attr().at(kPhaseAttr).s() == kPhaseBegin) {
      begin = &node;
    }
    if (!IsMove(node, device) || !IsBeforeStep(node)) continue;
    away.set_device(node.device());
    if (node.op() == kStateOutOp) {
      away.add_input("^" + node.name());
    } else {
      back.push_back(&node);
    }
  }
  if (begin == nullptr || away.device().empty()) return;
  for (NodeDef* const node : back) {
    WaitFor(node->name(), begin);
    if (away.input_size() > 0) WaitFor(away.name(), node);
  }
  if (away.input_size() == 0) return;
  WaitFor(away.name(), begin);
  *graph->add_node() = std::move(away);
}

}  // namespace sn_tf
