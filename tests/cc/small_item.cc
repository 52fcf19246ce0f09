// SPDX-License-Identifier: Apache-2.0
#include "tests/cc/small_item.h"

#include <algorithm>

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace sn_tf {

using tensorflow::GraphDef;
using tensorflow::NodeDef;
using tensorflow::grappler::GrapplerItem;

NodeDef* ItemBuilder::Add(const std::string& name, const std::string& op,
                          const std::vector<std::string>& inputs) {
  NodeDef* const node = item_.graph.add_node();
  node->set_name(name);
  node->set_op(op);
  node->set_device("/device:CPU:0");
  for (const std::string& input : inputs) node->add_input(input);
  (*node->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
  return node;
}

void ItemBuilder::AddInput(const std::string& name,
                           const std::vector<int64_t>& dims) {
  NodeDef* const node = Add(name, "Placeholder", {});
  auto& attr = *node->mutable_attr();
  attr.erase("T");
  attr["dtype"].set_type(tensorflow::DT_FLOAT);
  for (const int64_t dim : dims) {
    attr["shape"].mutable_shape()->add_dim()->set_size(dim);
  }
}

void ItemBuilder::AddShape(const std::string& name, int32_t size) {
  NodeDef* const node = Add(name, "Const", {});
  auto& attr = *node->mutable_attr();
  attr.erase("T");
  attr["dtype"].set_type(tensorflow::DT_INT32);
  tensorflow::Tensor value(tensorflow::DT_INT32, {1});
  value.flat<int32_t>()(0) = size;
  value.AsProtoTensorContent(attr["value"].mutable_tensor());
}

void ItemBuilder::Reshape(const std::string& name, const std::string& input) {
  NodeDef* const node = Add(name, "Reshape", {input, "flat"});
  (*node->mutable_attr())["Tshape"].set_type(tensorflow::DT_INT32);
}

GrapplerItem ItemBuilder::Build(const std::string& fetch) {
  item_.fetch = {fetch};
  return std::move(item_);
}

GrapplerItem SmallItem(int64_t batch) {
  ItemBuilder graph;
  graph.AddInput("x", {batch, 64});
  graph.AddShape("flat", -1);
  graph.Add("a", "LogSoftmax", {"x"});
  graph.Reshape("a_flat", "a");
  graph.Add("b", "Softmax", {"a"});
  graph.Add("c", "Softmax", {"b"});
  graph.Add("d", "NextAfter", {"b", "c"});
  graph.Reshape("d_flat", "d");
  graph.Add("end", "NextAfter", {"a_flat", "d_flat"});
  graph.Add("out", "Identity", {"end"});
  return graph.Build("out");
}

PlannerOptions OptionsOf(int64_t budget, const char* tiers) {
  PlannerOptions options;
  options.budget_bytes = budget;
  options.tiers = tiers;
  options.min_buffer_bytes = 1;
  return options;
}

OpId OpNamed(const MemoryGraph& graph, const std::string& name) {
  return static_cast<OpId>(
      std::find_if(graph.ops.begin(), graph.ops.end(),
                   [&name](const Op& op) { return op.name == name; }) -
      graph.ops.begin());
}

MemoryPlan PlanOf(
    const MemoryGraph& graph,
    const std::vector<std::pair<ItemKind, std::string>>& schedule) {
  MemoryPlan plan;
  for (const auto& [kind, name] : schedule) {
    const OpId op = OpNamed(graph, name);
    const bool of_op = kind == ItemKind::kRun || kind == ItemKind::kRecompute;
    plan.schedule.push_back({kind, of_op ? op : graph.ops[op].writes.at(0)});
  }
  return plan;
}

std::string ToText(const GraphDef& graph) {
  std::string text;
  for (const NodeDef& node : graph.node()) {
    text += node.name() + " = " + node.op() + "(";
    for (int i = 0; i < node.input_size(); ++i) {
      text += (i > 0 ? ", " : "") + node.input(i);
    }
    text += ")\n";
  }
  return text;
}

}  // namespace sn_tf
