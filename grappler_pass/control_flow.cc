// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/control_flow.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

constexpr int kFrame = -1;  // Stands where a branch has its side.

// `op` or what it was called for reference types.
bool Is(const NodeDef& node, const char* op) {
  return node.op() == op || node.op() == std::string("Ref") + op;
}

bool IsSwitch(const NodeDef& node) {
  return Is(node, "Switch") || node.op() == "_SwitchN";
}

}  // namespace

std::vector<std::vector<NodeInput>> InputsOf(const GraphDef& graph) {
  absl::flat_hash_map<std::string, int> index;
  for (int i = 0; i < graph.node_size(); ++i) index[graph.node(i).name()] = i;
  std::vector<std::vector<NodeInput>> inputs(graph.node_size());
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : graph.node(i).input()) {
      const tensorflow::TensorId tensor = tensorflow::ParseTensorName(input);
      const auto found = index.find(std::string(tensor.node()));
      inputs[i].push_back({found == index.end() ? -1 : found->second,
                           std::max(tensor.index(), -1)});
    }
  }
  return inputs;
}

ControlFlow::ControlFlow(const GraphDef& graph)
    : graph_(graph), inputs_(InputsOf(graph)) {
  Intern({});
  const int count = graph.node_size();
  context_.assign(count, kRoot);
  std::vector<std::vector<int>> readers(count);
  std::vector<int> missing(count, 0);
  std::vector<int> ready;
  for (int i = 0; i < count; ++i) {
    for (const NodeInput& input : inputs_[i]) {
      if (input.node < 0) {
        valid_ = false;
        return;
      }
      if (Is(graph.node(input.node), "NextIteration")) continue;
      readers[input.node].push_back(i);
      ++missing[i];
    }
    if (missing[i] == 0) ready.push_back(i);
  }
  for (size_t seen = 0; seen < ready.size(); ++seen) {
    const int node = ready[seen];
    context_[node] = Compute(node);
    for (const int reader : readers[node]) {
      if (--missing[reader] == 0) ready.push_back(reader);
    }
  }
  valid_ = static_cast<int>(ready.size()) == count;
}

bool ControlFlow::Contains(int outer, int inner) const {
  const Conditions& few = conditions_[outer];
  const Conditions& many = conditions_[inner];
  return std::includes(many.begin(), many.end(), few.begin(), few.end());
}

bool ControlFlow::Exclude(int a, int b) const {
  for (const int one : conditions_[a]) {
    for (const int other : conditions_[b]) {
      const auto& [decides, side] = condition_of_[one];
      const auto& [decides_too, other_side] = condition_of_[other];
      if (side != kFrame && other_side != kFrame && side != other_side &&
          decides == decides_too) {
        return true;
      }
    }
  }
  return false;
}

bool ControlFlow::IsInLoop(int context) const {
  const Conditions& conditions = conditions_[context];
  return std::any_of(
      conditions.begin(), conditions.end(),
      [this](int condition) { return outside_.count(condition) > 0; });
}

bool ControlFlow::IsLoopBody(int context) const {
  // As many conditions for going on as there are loops, and no others.
  int loops = 0;
  int goes_on = 0;
  for (const int condition : conditions_[context]) {
    loops += static_cast<int>(outside_.count(condition));
    goes_on += static_cast<int>(goes_on_.count(condition));
  }
  return loops > 0 && loops == goes_on &&
         loops + goes_on == static_cast<int>(conditions_[context].size());
}

int ControlFlow::Intern(Conditions conditions) {
  const auto [found, added] =
      contexts_.try_emplace(conditions, static_cast<int>(conditions_.size()));
  if (added) conditions_.push_back(std::move(conditions));
  return found->second;
}

int ControlFlow::ConditionOf(const std::string& what, int side) {
  const auto [found, added] = condition_ids_.try_emplace(
      {what, side}, static_cast<int>(condition_of_.size()));
  if (added) condition_of_.push_back(found->first);
  return found->second;
}

int ControlFlow::Union(int a, int b) {
  if (Contains(a, b)) return b;
  Conditions all;
  std::set_union(conditions_[a].begin(), conditions_[a].end(),
                 conditions_[b].begin(), conditions_[b].end(),
                 std::back_inserter(all));
  return Intern(std::move(all));
}

int ControlFlow::Intersection(int a, int b) {
  if (a == b) return a;
  Conditions common;
  std::set_intersection(conditions_[a].begin(), conditions_[a].end(),
                        conditions_[b].begin(), conditions_[b].end(),
                        std::back_inserter(common));
  return Intern(std::move(common));
}

int ControlFlow::ContextOfOutput(const NodeInput& input) const {
  const auto found = of_output_.find({input.node, input.port});
  return found == of_output_.end() ? context_[input.node] : found->second;
}

void ControlFlow::NoteOutput(const NodeInput& input) {
  const NodeDef& node = graph_.node(input.node);
  if (input.port < 0 || !IsSwitch(node) || node.input_size() < 2) return;
  const auto [found, added] = of_output_.try_emplace({input.node, input.port});
  if (!added) return;
  const std::string predicate =
      tensorflow::ParseTensorName(node.input(1)).ToString();
  const int condition = ConditionOf(predicate, input.port);
  const NodeInput& decides = inputs_[input.node][1];
  if (input.port == 1 && graph_.node(decides.node).op() == "LoopCond") {
    goes_on_.insert(condition);
  }
  found->second = Union(context_[input.node], Intern({condition}));
}

int ControlFlow::Compute(int node) {
  const NodeDef& def = graph_.node(node);
  const bool merges = Is(def, "Merge");
  std::optional<int> context;
  for (const NodeInput& input : inputs_[node]) {
    if (Is(graph_.node(input.node), "NextIteration")) continue;
    if (merges && input.port < 0) continue;
    NoteOutput(input);
    const int of_input = ContextOfOutput(input);
    if (!context.has_value()) {
      context = of_input;
    } else {
      context =
          merges ? Intersection(*context, of_input) : Union(*context, of_input);
    }
  }
  const int all = context.value_or(kRoot);
  if (Is(def, "Enter")) return Enter(def, all);
  return Is(def, "Exit") ? Exit(all) : all;
}

int ControlFlow::Enter(const NodeDef& node, int outside) {
  const auto name = node.attr().find("frame_name");
  const int frame = ConditionOf(
      name == node.attr().end() ? std::string() : name->second.s(), kFrame);
  const auto [found, added] = outside_.try_emplace(frame, outside);
  if (!added) found->second = Union(found->second, outside);
  return Union(outside, Intern({frame}));
}

int ControlFlow::Exit(int inside) const {
  // Of the frames that it is in, the innermost is in all others.
  int outside = kRoot;
  for (const int condition : conditions_[inside]) {
    const auto frame = outside_.find(condition);
    if (frame != outside_.end() && Contains(outside, frame->second)) {
      outside = frame->second;
    }
  }
  return outside;
}

}  // namespace sn_tf
