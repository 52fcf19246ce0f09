// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/keep_random_state.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cc/ops/names.h"
#include "grappler_pass/placement.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;

int64_t IntAttr(const NodeDef& node, const char* name) {
  const auto found = node.attr().find(name);
  return found == node.attr().end() ? 0 : found->second.i();
}

// Their kernels hold a generator, and find inputs by their positions. Without
// a seed each instance draws one of its own, so there is nothing to go on with.
bool IsSeededRandom(const NodeDef& node) {
  static const auto* const kOps = new absl::flat_hash_set<absl::string_view>{
      "RandomUniform",
      "RandomUniformInt",
      "RandomStandardNormal",
      "TruncatedNormal",
      "RandomShuffle",
      "Multinomial",
      "RandomGamma",
      "RandomPoissonV2",
      "ParameterizedTruncatedNormal",
      "AllCandidateSampler",
      "FixedUnigramCandidateSampler",
      "LearnedUnigramCandidateSampler",
      "LogUniformCandidateSampler",
      "SampleDistortedBoundingBox",
      "SampleDistortedBoundingBoxV2",
      "ThreadUnsafeUnigramCandidateSampler",
      "UniformCandidateSampler"};
  return kOps->contains(node.op()) &&
         (IntAttr(node, "seed") != 0 || IntAttr(node, "seed2") != 0);
}

// An accelerator's SnKeep has its inputs in host memory, and nothing else.
bool FitsKeep(const NodeDef& node) {
  const NodePlacement placement =
      PlacementOf(node, ManagedDevice(node.device()));
  const auto all = [](const std::vector<bool>& in_device, bool wanted) {
    return std::all_of(in_device.begin(), in_device.end(),
                       [wanted](bool is) { return is == wanted; });
  };
  return all(placement.inputs, false) && all(placement.outputs, true);
}

// Leaves `node` as it is where its types cannot be told.
void Keep(const std::string& function, NodeDef* node) {
  const tensorflow::OpDef* def = nullptr;
  tensorflow::DataTypeVector inputs;
  tensorflow::DataTypeVector outputs;
  if (!tensorflow::OpRegistry::Global()->LookUpOpDef(node->op(), &def).ok() ||
      !tensorflow::InOutTypesForNode(*node, *def, &inputs, &outputs).ok()) {
    return;
  }
  NodeDef inner = *node;
  inner.clear_input();
  NodeDef keep;
  keep.set_name(node->name());
  keep.set_op(kKeepOp);
  keep.set_device(node->device());
  *keep.mutable_input() = node->input();
  auto& attr = *keep.mutable_attr();
  attr["Tin"].mutable_list();
  for (const auto type : inputs) attr["Tin"].mutable_list()->add_type(type);
  for (const auto type : outputs) attr["Tout"].mutable_list()->add_type(type);
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    inner.add_input(absl::StrCat("input_", i));
  }
  attr[kNodeAttr].set_s(inner.SerializeAsString());
  attr[kKeyAttr].set_s(absl::StrCat(function, "/", node->name()));
  *node = keep;
}

}  // namespace

void KeepRandomState(const std::string& function, tensorflow::GraphDef* graph) {
  for (NodeDef& node : *graph->mutable_node()) {
    if (IsSeededRandom(node) && HasCpuKernels(node) && FitsKeep(node)) {
      Keep(function, &node);
    }
  }
}

}  // namespace sn_tf
