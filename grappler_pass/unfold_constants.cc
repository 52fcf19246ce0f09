// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/unfold_constants.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cc/ops/names.h"
#include "grappler_pass/control_flow.h"
#include "grappler_pass/control_inputs.h"
#include "grappler_pass/op_traits.h"
#include "grappler_pass/placement.h"
#include "grappler_pass/planner/phases.h"
#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace sn_tf {
namespace {

using tensorflow::DataType;
using tensorflow::NodeDef;
using tensorflow::Tensor;
using tensorflow::TensorProto;
using tensorflow::grappler::GrapplerItem;

// Smaller ones are not worth an op's overhead.
constexpr int64_t kLeastBytes = 64 * 1024;

int64_t BytesOf(const TensorProto& proto) {
  tensorflow::TensorShape shape;
  if (!tensorflow::DataTypeCanUseMemcpy(proto.dtype()) ||
      !tensorflow::TensorShape::BuildTensorShape(proto.tensor_shape(), &shape)
           .ok()) {
    return 0;
  }
  return shape.num_elements() * tensorflow::DataTypeSize(proto.dtype());
}

// Of the first input.
absl::Status InputType(const NodeDef& node, DataType* dtype) {
  const tensorflow::OpDef* def = nullptr;
  TF_RETURN_IF_ERROR(
      tensorflow::OpRegistry::Global()->LookUpOpDef(node.op(), &def));
  return tensorflow::InputTypeForNode(node, *def, 0, dtype);
}

// The one element of which all are copies.
std::optional<Tensor> OnlyElement(const TensorProto& proto) {
  Tensor tensor;
  if (!tensor.FromProto(proto)) return std::nullopt;
  const auto* const bytes = static_cast<const char*>(tensor.data());
  const size_t size = tensorflow::DataTypeSize(tensor.dtype());
  if (std::memcmp(bytes, bytes + size, tensor.TotalBytes() - size) != 0) {
    return std::nullopt;
  }
  Tensor element(tensor.dtype(), {});
  std::memcpy(element.data(), bytes, size);
  return element;
}

void SplatConstants(tensorflow::GraphDef* graph) {
  for (NodeDef& node : *graph->mutable_node()) {
    if (node.op() != "Const" || !HasCpuKernels(node)) continue;
    // SnSplat makes them in the device's memory.
    if (!PlacementOf(node, ManagedDevice(node.device())).HasOutput(0)) continue;
    const auto value = node.attr().find("value");
    if (value == node.attr().end()) continue;
    const TensorProto& proto = value->second.tensor();
    if (BytesOf(proto) < kLeastBytes) continue;
    const std::optional<Tensor> element = OnlyElement(proto);
    if (!element.has_value()) continue;
    NodeDef splat;
    splat.set_name(node.name());
    splat.set_op(kSplatOp);
    splat.set_device(node.device());
    *splat.mutable_input() = node.input();
    auto& attr = *splat.mutable_attr();
    attr[kTypeAttr].set_type(proto.dtype());
    *attr[kShapeAttr].mutable_shape() = proto.tensor_shape();
    element->AsProtoTensorContent(attr[kValueAttr].mutable_tensor());
    node = splat;
  }
}

// Pure ops that read constants, or others of their kind, and nothing else, by
// node.
std::vector<bool> FoldableOps(const tensorflow::GraphDef& graph) {
  const std::vector<std::vector<NodeInput>> inputs = InputsOf(graph);
  std::vector<std::vector<int>> readers(graph.node_size());
  std::vector<int> missing(graph.node_size(), 0);
  std::vector<int> constant;
  for (int i = 0; i < graph.node_size(); ++i) {
    if (graph.node(i).op() == "Const") constant.push_back(i);
    for (const NodeInput& input : inputs[i]) {
      if (input.port < 0) continue;
      ++missing[i];
      if (input.node >= 0) readers[input.node].push_back(i);
    }
  }
  std::vector<bool> foldable(graph.node_size(), false);
  for (size_t seen = 0; seen < constant.size(); ++seen) {
    for (const int reader : readers[constant[seen]]) {
      if (--missing[reader] > 0 || !IsPure(graph.node(reader))) continue;
      foldable[reader] = true;
      constant.push_back(reader);
    }
  }
  return foldable;
}

// The part of the graph that decides the shapes of foldable ops: these ops, and
// the constants that they read.
GrapplerItem FoldablePart(const GrapplerItem& item,
                          const std::vector<bool>& foldable) {
  absl::flat_hash_set<absl::string_view> read;
  for (size_t i = 0; i < foldable.size(); ++i) {
    if (!foldable[i]) continue;
    for (const std::string& input : item.graph.node(i).input()) {
      read.insert(tensorflow::ParseTensorName(input).node());
    }
  }
  tensorflow::GraphDef part;
  *part.mutable_versions() = item.graph.versions();
  for (size_t i = 0; i < foldable.size(); ++i) {
    const NodeDef& node = item.graph.node(i);
    const bool constant = node.op() == "Const" && read.contains(node.name());
    if (!foldable[i] && !constant) continue;
    NodeDef* const copy = part.add_node();
    *copy = node;
    RemoveControlInputs(copy);
  }
  return item.WithGraph(std::move(part));
}

bool IsLarge(const std::vector<TensorInfo>& outputs) {
  return std::any_of(
      outputs.begin(), outputs.end(),
      [](const TensorInfo& info) { return info.bytes() >= kLeastBytes; });
}

// Puts an SnHold before the first input of `node`.
void HoldInput(NodeDef* node, DataType dtype, tensorflow::GraphDef* graph) {
  NodeDef hold;
  hold.set_name(absl::StrCat(kNodePrefix, node->name(), "/hold"));
  hold.set_op(kHoldOp);
  hold.set_device(node->device());
  hold.add_input(node->input(0));
  (*hold.mutable_attr())[kTypeAttr].set_type(dtype);
  if (!PlacementOf(*node, ManagedDevice(node->device())).HasInput(0)) {
    (*hold.mutable_attr())["_kernel"].set_s(kHostLabel);
  }
  node->set_input(0, hold.name());
  *graph->add_node() = std::move(hold);
}

}  // namespace

absl::Status UnfoldConstants(GrapplerItem* item) {
  const PhaseTimer timer(Phase::kImport);
  SplatConstants(&item->graph);
  const std::vector<bool> foldable = FoldableOps(item->graph);
  if (std::find(foldable.begin(), foldable.end(), true) == foldable.end()) {
    return absl::OkStatus();
  }
  const absl::StatusOr<TensorInfos> infos =
      InferShapes(FoldablePart(*item, foldable), {}, {});
  if (!infos.ok()) return infos.status();
  for (size_t i = 0; i < foldable.size(); ++i) {
    NodeDef* const node = item->graph.mutable_node(static_cast<int>(i));
    if (!foldable[i] || !HasCpuKernels(*node)) continue;
    const auto outputs = infos->find(node->name());
    if (outputs == infos->end() || !IsLarge(outputs->second)) continue;
    DataType dtype;
    TF_RETURN_IF_ERROR(InputType(*node, &dtype));
    HoldInput(node, dtype, &item->graph);
  }
  return absl::OkStatus();
}

}  // namespace sn_tf
