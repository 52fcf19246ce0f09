// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/tensor_shapes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cc/ops/names.h"
#include "grappler_pass/op_traits.h"
#include "grappler_pass/planner/phases.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/grappler/costs/graph_properties.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;
using tensorflow::TensorShapeProto;
using tensorflow::grappler::GrapplerItem;

void SetDims(const std::vector<int64_t>& dims, TensorShapeProto* shape) {
  shape->Clear();
  for (const int64_t dim : dims) shape->add_dim()->set_size(dim);
}

// Writes the dimensions where the op's shape function looks for them.
void SetOutputDims(const StepInput& input, const std::vector<int64_t>& dims,
                   NodeDef* node) {
  auto& attr = *node->mutable_attr();
  if (node->op() == "Placeholder") {
    SetDims(dims, attr["shape"].mutable_shape());
    return;
  }
  const char* const name =
      attr.contains("output_shapes") ? "output_shapes" : "_output_shapes";
  auto* const shapes = attr[name].mutable_list();
  while (shapes->shape_size() <= input.port) {
    shapes->add_shape()->set_unknown_rank(true);
  }
  SetDims(dims, shapes->mutable_shape(input.port));
}

void SetInputDims(const std::vector<StepInput>& inputs,
                  const StepInputDims& dims, tensorflow::GraphDef* graph) {
  if (dims.empty()) return;
  std::map<std::string, NodeDef*> nodes;
  for (NodeDef& node : *graph->mutable_node()) nodes[node.name()] = &node;
  for (size_t i = 0; i < inputs.size(); ++i) {
    SetOutputDims(inputs[i], dims[i], nodes.at(inputs[i].node));
  }
}

// Whether UndoRewrites has anything to do.
bool HasRewrites(const tensorflow::GraphDef& graph) {
  return std::any_of(graph.node().begin(), graph.node().end(),
                     [](const NodeDef& node) {
                       return node.op() == kKeepOp || node.op() == kSwapOutOp;
                     });
}

// Grappler follows no shapes through what was done for another device: here,
// what that one's plan moves stays where it is, and random ops are their own.
void UndoRewrites(tensorflow::GraphDef* graph) {
  for (NodeDef& node : *graph->mutable_node()) {
    if (node.op() == kKeepOp) {
      NodeDef kept;
      if (!kept.ParseFromString(node.attr().at(kNodeAttr).s())) continue;
      *kept.mutable_input() = node.input();
      node = kept;
    }
    if (node.op() == kSwapWaitOp || node.op() == kPrefetchOp) {
      node.set_op("NoOp");
      node.clear_attr();
      for (std::string& input : *node.mutable_input()) {
        if (input[0] != '^') input.insert(0, "^");
      }
    }
    if (node.op() != kSwapOutOp && node.op() != kSwapInOp) continue;
    const tensorflow::AttrValue type = node.attr().at(kTypeAttr);
    node.set_op("Identity");
    node.clear_attr();
    (*node.mutable_attr())[kTypeAttr] = type;
  }
}

TensorInfo ToInfo(const tensorflow::OpInfo::TensorProperties& properties) {
  TensorInfo info;
  info.dtype = properties.dtype();
  info.known_rank = !properties.shape().unknown_rank();
  for (const auto& dim : properties.shape().dim()) {
    info.dims.push_back(std::max<int64_t>(dim.size(), -1));
  }
  return info;
}

}  // namespace

bool TensorInfo::known() const {
  return known_rank && std::all_of(dims.begin(), dims.end(),
                                   [](int64_t dim) { return dim >= 0; });
}

int64_t TensorInfo::bytes() const {
  if (!known() || !tensorflow::DataTypeCanUseMemcpy(dtype)) return -1;
  int64_t bytes = tensorflow::DataTypeSize(dtype);
  for (const int64_t dim : dims) bytes *= dim;
  return bytes;
}

std::vector<StepInput> UnknownStepInputs(const tensorflow::GraphDef& graph,
                                         const TensorInfos& infos) {
  std::vector<StepInput> inputs;
  for (const NodeDef& node : graph.node()) {
    if (!IsStepInput(node)) continue;
    const auto found = infos.find(node.name());
    if (found == infos.end()) continue;
    for (size_t port = 0; port < found->second.size(); ++port) {
      const TensorInfo& info = found->second[port];
      if (tensorflow::DataTypeCanUseMemcpy(info.dtype) && !info.known()) {
        inputs.push_back({node.name(), static_cast<int>(port), info.dtype,
                          info.known_rank, info.dims});
      }
    }
  }
  std::sort(inputs.begin(), inputs.end(),
            [](const StepInput& a, const StepInput& b) {
              return std::tie(a.node, a.port) < std::tie(b.node, b.port);
            });
  return inputs;
}

absl::StatusOr<TensorInfos> InferShapes(const GrapplerItem& item,
                                        const std::vector<StepInput>& inputs,
                                        const StepInputDims& dims) {
  const PhaseTimer timer(Phase::kShapes);
  std::optional<GrapplerItem> changed;
  if (!dims.empty() || HasRewrites(item.graph)) {
    changed = item.WithGraph(tensorflow::GraphDef(item.graph));
    SetInputDims(inputs, dims, &changed->graph);
    UndoRewrites(&changed->graph);
  }
  tensorflow::grappler::GraphProperties properties(
      changed.has_value() ? *changed : item);
  const absl::Status status = properties.InferStatically(
      /*assume_valid_feeds=*/true, /*aggressive_shape_inference=*/true,
      /*include_tensor_values=*/false);
  if (!status.ok()) return status;
  TensorInfos infos;
  infos.reserve(item.graph.node_size());
  for (const NodeDef& node : item.graph.node()) {
    std::vector<TensorInfo>& outputs = infos[node.name()];
    if (!properties.HasOutputProperties(node.name())) continue;
    for (const auto& output : properties.GetOutputProperties(node.name())) {
      outputs.push_back(ToInfo(output));
    }
  }
  return infos;
}

}  // namespace sn_tf
