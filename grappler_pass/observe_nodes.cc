// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/observe_nodes.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cc/ops/names.h"
#include "grappler_pass/nested_flow.h"
#include "grappler_pass/op_traits.h"
#include "grappler_pass/placement.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

// Where the first of `inputs` is made; "" where there is none.
std::string DeviceOfInputs(const GraphDef& graph,
                           const std::vector<StepInput>& inputs) {
  if (inputs.empty()) return "";
  for (const NodeDef& node : graph.node()) {
    if (node.name() == inputs[0].node) return node.device();
  }
  return "";
}

}  // namespace

std::string AddObserveNode(GraphDef* graph, const std::string& device,
                           const std::vector<StepInput>& inputs,
                           int64_t observer, const char* phase, int number) {
  const std::string of_inputs = DeviceOfInputs(*graph, inputs);
  NodeDef* const node = graph->add_node();
  // A tf.compat.v1.Session keeps stateful kernels by node name: a later plan's
  // node must not find this one's kernel.
  node->set_name(absl::StrCat(kNodePrefix, "observe_", phase, "_", observer));
  if (number > 0) node->set_name(absl::StrCat(node->name(), "_", number));
  node->set_op(kObserveOp);
  node->set_device(of_inputs.empty() ? device : of_inputs);
  auto& attr = *node->mutable_attr();
  attr[kObserverAttr].set_i(observer);
  attr[kPhaseAttr].set_s(phase);
  attr[kOfDeviceAttr].set_s(device);
  attr[kTypeAttr].mutable_list();
  for (const StepInput& input : inputs) {
    node->add_input(absl::StrCat(input.node, ":", input.port));
    attr[kTypeAttr].mutable_list()->add_type(input.dtype);
  }
  return node->name();
}

std::vector<bool> FeedsInputs(const GraphDef& graph,
                              const std::vector<StepInput>& inputs) {
  std::vector<bool> feeds(graph.node_size(), false);
  if (inputs.empty()) return feeds;
  std::map<std::string, int> index;
  for (int i = 0; i < graph.node_size(); ++i) index[graph.node(i).name()] = i;
  std::vector<int> open;
  const auto reach = [&](const std::string& name) {
    const auto found = index.find(name);
    if (found == index.end() || feeds[found->second]) return;
    feeds[found->second] = true;
    open.push_back(found->second);
  };
  for (const StepInput& input : inputs) reach(input.node);
  while (!open.empty()) {
    const NodeDef& node = graph.node(open.back());
    open.pop_back();
    for (const std::string& input : node.input()) {
      reach(std::string(tensorflow::ParseTensorName(input).node()));
    }
  }
  return feeds;
}

void GuardStateWrites(GraphDef* graph, const std::vector<bool>& feeds_inputs,
                      const std::string& before) {
  for (size_t i = 0; i < feeds_inputs.size(); ++i) {
    NodeDef* const node = graph->mutable_node(static_cast<int>(i));
    if (IsStateWrite(*node) && !feeds_inputs[i]) node->add_input("^" + before);
  }
}

void HoldBack(GraphDef* graph, const std::vector<bool>& feeds_inputs,
              const std::string& observe) {
  const NestedFlow nested = FindNestedFlow(*graph);
  for (size_t i = 0; i < feeds_inputs.size(); ++i) {
    NodeDef* const node = graph->mutable_node(static_cast<int>(i));
    // What is inside a loop cannot wait for what is not.
    const bool inside = nested.IsInterior(static_cast<int>(i));
    if (!IsResidentSource(*node) && !feeds_inputs[i] && !inside) {
      node->add_input("^" + observe);
    }
  }
}

void KeepBatches(int64_t observer, GraphDef* graph) {
  for (NodeDef& node : *graph->mutable_node()) {
    if (node.op() != kIteratorGetNextOp ||
        !absl::StartsWith(ManagedDevice(node.device()), "CPU:")) {
      continue;
    }
    node.set_op(kNextBatchOp);
    (*node.mutable_attr())[kObserverAttr].set_i(observer);
  }
}

bool IsObserved(const GraphDef& graph, const std::string& device) {
  return std::any_of(
      graph.node().begin(), graph.node().end(), [&device](const NodeDef& node) {
        return node.op() == kObserveOp &&
               ManagedDevice(node.attr().at(kOfDeviceAttr).s()) == device;
      });
}

}  // namespace sn_tf
