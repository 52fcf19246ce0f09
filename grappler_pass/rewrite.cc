// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/rewrite.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cc/ops/names.h"
#include "grappler_pass/control_inputs.h"
#include "grappler_pass/observe_nodes.h"
#include "grappler_pass/op_traits.h"
#include "grappler_pass/order_branches.h"
#include "grappler_pass/write_gates.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

std::string TensorName(const std::string& node, int port) {
  return port == 0 ? node : absl::StrCat(node, ":", port);
}

// Walks the schedule once, keeping which version of each buffer is current and
// which nodes the next ordered node has to wait for.
class Rewriter {
 public:
  Rewriter(const GraphDef& graph, const ImportedGraph& imported,
           const MemoryPlan& plan, const std::vector<StepInput>& inputs,
           const StepObservers& observers, const Swapping& swapping)
      : imported_(imported),
        memory_(imported.memory),
        plan_(plan),
        swapping_(swapping),
        result_(graph),
        version_(imported.memory.buffers.size(), 0),
        swap_out_(imported.memory.buffers.size()),
        home_(imported.memory.ops.size()),
        wait_at_(imported.memory.buffers.size(), 0),
        gates_(imported.DeviceOf(graph), observers.writes, &result_) {
    for (size_t p = 0; p < plan.schedule.size(); ++p) {
      const PlanItem& item = plan.schedule[p];
      if (item.kind == ItemKind::kSwapWait) {
        wait_at_[item.id] = static_cast<int64_t>(p);
      }
    }
    if (observers.begin == 0) return;
    unordered_ = FeedsInputs(graph, inputs);
    device_ = imported.DeviceOf(graph);
    const std::string begin =
        AddObserveNode(&result_, device_, inputs, observers.begin, kPhaseBegin);
    GuardStateWrites(&result_, unordered_, begin);
    frontier_.push_back(begin);
    end_observer_ = observers.end;
  }

  GraphDef Run() {
    for (size_t p = 0; p < plan_.schedule.size(); ++p) {
      const PlanItem& item = plan_.schedule[p];
      position_ = static_cast<int64_t>(p);
      switch (item.kind) {
        case ItemKind::kRun:
          RunOp(item.id);
          break;
        case ItemKind::kRecompute:
          Recompute(item.id);
          break;
        case ItemKind::kSwapOut:
          SwapOut(item.id);
          break;
        case ItemKind::kSwapWait:
          SwapWait(item.id);
          break;
        case ItemKind::kSwapIn:
          SwapIn(item.id);
          break;
      }
    }
    if (end_observer_ != 0) {
      AddObserveNode(&result_, device_, {}, end_observer_, kPhaseEnd);
      Follow(result_.mutable_node(result_.node_size() - 1));
    }
    return std::move(result_);
  }

 private:
  NodeDef* NodeOf(OpId op) {
    return result_.mutable_node(imported_.node_index[op]);
  }

  bool HasNode(OpId op) const {
    return static_cast<size_t>(op) < imported_.node_index.size();
  }

  std::string NewName(const std::string& of, const std::string& what) {
    const std::string stem = absl::StrCat(
        kNodePrefix, absl::StrReplaceAll(of, {{":", "_"}}), "/", what);
    return absl::StrCat(stem, "_", name_count_[stem]++);
  }

  // Adds a control edge from each frontier node that `node` does not read.
  void Follow(NodeDef* node) {
    for (const std::string& before : frontier_) WaitFor(before, node);
  }

  bool IsUnordered(OpId op) const {
    return !unordered_.empty() && unordered_[imported_.node_index[op]];
  }

  bool IsOrdered(OpId op) {
    return memory_.TouchesMemory(op) && imported_.placement[op].on_device &&
           !IsResult(*NodeOf(op)) && !IsUnordered(op) &&
           !imported_.LeavesOrdered(op);
  }

  void OrderInside(OpId op) {
    const Conditional* const conditional = imported_.ConditionalAt(op);
    if (conditional == nullptr) return;
    last_op_ = kNone;
    frontier_ = OrderBranches(*conditional, frontier_, &gates_, &result_);
    gates_.NoteOrdered(false);
  }

  void RunOp(OpId op) {
    if (op == imported_.before_writes) ObserveWrites();
    if (!HasNode(op)) {
      OrderInside(op);
      WaitForExits(op);
      return;
    }
    const OpId partner = memory_.ops[op].partner;
    const bool second =
        partner != kNone && partner == last_op_ && IsOrdered(op);
    if (second) GoBackBefore(partner);
    RewireInputs(op, NodeOf(op));
    RecordHome(op);
    const bool writes = IsStateWrite(*NodeOf(op)) && !IsUnordered(op);
    if (writes) gates_.Guard(frontier_, NodeOf(op));
    if (!IsOrdered(op)) return;
    gates_.NoteOrdered(writes);
    if (IsOfLoop(op)) {
      OrderLoop(op);
      return;
    }
    before_last_ = frontier_;
    Follow(NodeOf(op));
    frontier_ = {memory_.ops[op].name};
    if (second) {
      frontier_.push_back(memory_.ops[partner].name);
      DropWaitsForInputs(*NodeOf(op), NodeOf(partner));
      DropWaitsForInputs(*NodeOf(partner), NodeOf(op));
    }
    last_op_ = op;
  }

  // Of two ops that may be fused, neither waits for the other, nor does what
  // comes back for the second wait for the first.
  void GoBackBefore(OpId first) {
    for (auto& [buffer, arrival] : arriving_) {
      const std::vector<std::string>& after = arrival.begins_after;
      if (after.size() == 1 && after[0] == memory_.ops[first].name) {
        arrival.begins_after = before_last_;
      }
    }
    frontier_ = before_last_;
  }

  bool IsOfLoop(OpId op) {
    const std::string& type = NodeOf(op)->op();
    return type == "Enter" || type == "Exit";
  }

  // Enter waits for what is outside its loop, but nothing outside can wait for
  // it; with Exit it is the other way round.
  void OrderLoop(OpId op) {
    last_op_ = kNone;
    if (imported_.role[op] == FlowRole::kEntry) {
      Follow(NodeOf(op));
    } else {
      frontier_.push_back(memory_.ops[op].name);
    }
  }

  // What leaves loops and conditionals may be too small to be ordered, though
  // what they hold until then is not. `op` stands for their end.
  void WaitForExits(OpId op) {
    for (const OpId exit : memory_.ops[op].after) {
      if (!HasNode(exit) || imported_.role[exit] != FlowRole::kExit) continue;
      frontier_.push_back(memory_.ops[exit].name);
      last_op_ = kNone;
    }
  }

  // All writes of state wait for what has run so far, and for the observer's
  // consent.
  void ObserveWrites() {
    if (!gates_.are_wanted()) return;
    frontier_ = {gates_.Renew(frontier_)};
    GuardStateWrites(&result_, unordered_, frontier_[0]);
  }

  // The version under which each output of `op` was made, so that readers of
  // that version use it and others a clone.
  void RecordHome(OpId op) {
    for (const BufferId b : imported_.output_buffer[op]) {
      home_[op].push_back(b == kNone ? 0 : version_[b]);
    }
  }

  void RewireInputs(OpId op, NodeDef* node) {
    const std::vector<TensorRef>& inputs = imported_.inputs[op];
    for (size_t i = 0; i < inputs.size(); ++i) {
      const BufferId b = imported_.BufferOf(inputs[i]);
      if (b == kNone) continue;
      Fetch(b);
      const std::string tensor = TensorOf(inputs[i], b, version_[b]);
      *node->mutable_input(static_cast<int>(i)) = tensor;
    }
  }

  // The tensor that stands for `tensor`, an alias of buffer `b`, under a
  // version of it.
  std::string TensorOf(const TensorRef& tensor, BufferId b, int version) {
    const std::string& name = memory_.ops[tensor.op].name;
    if (home_[tensor.op][tensor.port] == version) {
      return TensorName(name, tensor.port);
    }
    if (memory_.buffers[b].producer == tensor.op) {
      return tensors_.at({tensor.op, tensor.port, version});
    }
    const auto key = std::make_tuple(tensor.op, tensor.port, version);
    const auto found = tensors_.find(key);
    if (found != tensors_.end()) return found->second;
    return tensors_[key] = CloneAlias(tensor, b, version);
  }

  std::string CloneAlias(const TensorRef& tensor, BufferId b, int version) {
    NodeDef clone = *NodeOf(tensor.op);
    RemoveControlInputs(&clone);
    clone.set_name(NewName(clone.name(), "alias"));
    clone.mutable_attr()->erase("_class");
    const int aliased = imported_.aliased_input[tensor.op][tensor.port];
    const TensorRef& source = imported_.inputs[tensor.op][aliased];
    *clone.mutable_input(aliased) = TensorOf(source, b, version);
    *result_.add_node() = clone;
    return TensorName(clone.name(), tensor.port);
  }

  void Recompute(OpId op) {
    NodeDef clone = *NodeOf(op);
    RemoveControlInputs(&clone);
    clone.set_name(NewName(clone.name(), "recompute"));
    clone.mutable_attr()->erase("_class");
    RewireInputs(op, &clone);
    Follow(&clone);
    frontier_ = {clone.name()};
    gates_.NoteOrdered(false);
    last_op_ = kNone;
    for (const BufferId b : memory_.ops[op].writes) {
      ++version_[b];
      for (size_t port = 0; port < imported_.output_buffer[op].size(); ++port) {
        if (imported_.output_buffer[op][port] != b) continue;
        tensors_[{op, static_cast<int>(port), version_[b]}] =
            TensorName(clone.name(), static_cast<int>(port));
      }
    }
    *result_.add_node() = std::move(clone);
  }

  int PortOf(BufferId b) const {
    const std::vector<BufferId>& ports =
        imported_.output_buffer[memory_.buffers[b].producer];
    return static_cast<int>(std::find(ports.begin(), ports.end(), b) -
                            ports.begin());
  }

  // Without `what`, a node that has no name yet.
  NodeDef SwapNode(BufferId b, const char* op, const char* what) {
    const Buffer& buffer = memory_.buffers[b];
    NodeDef node;
    node.set_op(op);
    if (what != nullptr) node.set_name(NewName(buffer.name, what));
    node.set_device(NodeOf(buffer.producer)->device());
    return node;
  }

  // A plan that needs the memory lets it leave at once, and waits for it to
  // have left. What an unmeasured plan moves may not need to move at all.
  void SwapOut(BufferId b) {
    NodeDef node = SwapNode(b, kSwapOutOp, "swap_out");
    auto& attr = *node.mutable_attr();
    attr[kTypeAttr].set_type(imported_.dtypes[b]);
    attr[kBufferAttr].set_s(memory_.buffers[b].name);
    attr[kTiersAttr].set_s(swapping_.tiers);
    attr[kSwapDirAttr].set_s(swapping_.swap_dir);
    attr[kWhenAttr].set_s(swapping_.when_needed ? kWhenNeeded : kWhenNow);
    attr[kNeededAtAttr].set_i(wait_at_[b]);
    node.add_input(
        TensorName(memory_.ops[memory_.buffers[b].producer].name, PortOf(b)));
    swap_out_[b] = node.name();
    *result_.add_node() = std::move(node);
  }

  void SwapWait(BufferId b) {
    if (swapping_.when_needed) return;
    NodeDef node = SwapNode(b, kSwapWaitOp, "swap_wait");
    node.add_input(swap_out_[b]);
    Follow(&node);
    frontier_ = {node.name()};
    last_op_ = kNone;
    *result_.add_node() = std::move(node);
  }

  // The copy begins here, and is fetched by whoever reads it first.
  void SwapIn(BufferId b) {
    ++version_[b];
    Arrival arrival;
    arrival.name = NewName(memory_.buffers[b].name, "swap_in");
    arrival.begins_after = frontier_;
    tensors_[{memory_.buffers[b].producer, PortOf(b), version_[b]}] =
        arrival.name;
    arriving_[b] = std::move(arrival);
  }

  void Fetch(BufferId b) {
    const auto found = arriving_.find(b);
    if (found == arriving_.end()) return;
    const Arrival arrival = std::move(found->second);
    arriving_.erase(found);
    NodeDef node = SwapNode(b, kSwapInOp, nullptr);
    node.set_name(arrival.name);
    auto& attr = *node.mutable_attr();
    attr[kTypeAttr].set_type(imported_.dtypes[b]);
    attr[kBufferAttr].set_s(memory_.buffers[b].name);
    attr[kNeededAtAttr].set_i(position_);
    node.add_input(swap_out_[b]);
    if (arrival.begins_after != frontier_) {
      NodeDef prefetch = SwapNode(b, kPrefetchOp, "prefetch");
      (*prefetch.mutable_attr())[kNeededAtAttr].set_i(position_);
      prefetch.add_input(swap_out_[b]);
      std::vector<std::string> now =
          std::exchange(frontier_, arrival.begins_after);
      Follow(&prefetch);
      frontier_ = std::move(now);
      node.add_input("^" + prefetch.name());
      *result_.add_node() = std::move(prefetch);
    }
    Follow(&node);
    gates_.NoteFetched(node.name());
    *result_.add_node() = std::move(node);
  }

  const ImportedGraph& imported_;
  const MemoryGraph& memory_;
  const MemoryPlan& plan_;
  const Swapping& swapping_;
  GraphDef result_;
  std::string device_;
  std::vector<bool> unordered_;  // By node: runs before the observation.
  int64_t end_observer_ = 0;
  std::vector<int> version_;  // Current, of each buffer.
  int64_t position_ = 0;      // In the schedule.
  std::vector<std::string> swap_out_;
  // A swap_in that nobody has read yet.
  struct Arrival {
    std::string name;
    std::vector<std::string> begins_after;
  };
  std::map<BufferId, Arrival> arriving_;
  std::vector<std::vector<int>> home_;  // Per op and port.
  std::vector<int64_t> wait_at_;        // Position of each buffer's swap_wait.
  WriteGates gates_;
  // What stands for (op, port) under a version other than its home.
  std::map<std::tuple<OpId, int, int>, std::string> tensors_;
  std::map<std::string, int> name_count_;
  std::vector<std::string> frontier_;
  std::vector<std::string> before_last_;
  OpId last_op_ = kNone;
};

}  // namespace

GraphDef RewriteGraph(const GraphDef& graph, const ImportedGraph& imported,
                      const MemoryPlan& plan,
                      const std::vector<StepInput>& inputs,
                      const StepObservers& observers,
                      const Swapping& swapping) {
  return Rewriter(graph, imported, plan, inputs, observers, swapping).Run();
}

}  // namespace sn_tf
