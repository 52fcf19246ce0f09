// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/stage_edges.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/ops/names.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;

// From more nodes than this, a node between saves edges.
constexpr size_t kMostDirect = 2;

std::string NodeNameOf(const std::string& input) {
  return std::string(tensorflow::ParseTensorName(input).node());
}

void AddControlInput(const std::string& before, NodeDef* node) {
  const bool known = std::any_of(node->input().begin(), node->input().end(),
                                 [&before](const std::string& input) {
                                   return NodeNameOf(input) == before;
                                 });
  if (!known) node->add_input(absl::StrCat("^", before));
}

}  // namespace

StageEdges::StageEdges(tensorflow::GraphDef* graph, const std::string& first)
    : graph_(graph) {
  if (!first.empty()) last_.push_back(first);
}

void StageEdges::NextStage() {
  stage_.clear();
  if (awaited_.empty()) return;
  last_.assign(awaited_.begin(), awaited_.end());
  awaited_.clear();
  if (last_.size() <= kMostDirect) return;
  NodeDef* const barrier = graph_->add_node();
  barrier->set_name(absl::StrCat(kNodePrefix, "stage_", barriers_++));
  barrier->set_op("NoOp");
  barrier->set_device(device_);
  for (const std::string& node : last_) {
    barrier->add_input(absl::StrCat("^", node));
  }
  last_ = {barrier->name()};
}

void StageEdges::Add(NodeDef* node, const std::vector<std::string>& others) {
  for (const std::string& other : others) {
    if (stage_.count(other) > 0) AddControlInput(other, node);
  }
  bool follows = false;
  for (const std::string& input : node->input()) {
    const std::string before = NodeNameOf(input);
    if (stage_.count(before) == 0) continue;
    follows = true;
    awaited_.erase(before);
  }
  if (!follows) WaitForLastStage(node);
  stage_.insert(node->name());
  awaited_.insert(node->name());
  device_ = node->device();
}

void StageEdges::AddUnawaited(NodeDef* node) {
  WaitForLastStage(node);
  stage_.insert(node->name());
}

void StageEdges::WaitForLastStage(NodeDef* node) const {
  for (const std::string& before : last_) AddControlInput(before, node);
}

}  // namespace sn_tf
