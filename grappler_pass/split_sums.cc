// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/split_sums.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cc/ops/names.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/types.pb.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;

bool IsLongSum(const NodeDef& node) {
  if (node.op() != "AddN") return false;
  const auto count = node.attr().find("N");
  const auto type = node.attr().find("T");
  return count != node.attr().end() && count->second.i() > 2 &&
         type != node.attr().end() &&
         type->second.type() != tensorflow::DT_VARIANT;
}

NodeDef PairSum(const NodeDef& sum, const std::string& name,
                const std::string& a, const std::string& b) {
  NodeDef pair;
  pair.set_name(name);
  pair.set_op("AddN");
  pair.set_device(sum.device());
  (*pair.mutable_attr())["T"] = sum.attr().at("T");
  (*pair.mutable_attr())["N"].set_i(2);
  pair.add_input(a);
  pair.add_input(b);
  return pair;
}

}  // namespace

void SplitSums(tensorflow::GraphDef* graph) {
  std::vector<NodeDef> added;
  for (NodeDef& node : *graph->mutable_node()) {
    if (!IsLongSum(node)) continue;
    std::vector<std::string> terms;
    std::vector<std::string> controls;
    for (const std::string& input : node.input()) {
      (absl::StartsWith(input, "^") ? controls : terms).push_back(input);
    }
    std::string sum = terms[0];
    for (size_t i = 1; i + 1 < terms.size(); ++i) {
      const std::string name =
          absl::StrCat(kNodePrefix, node.name(), "/sum_", i);
      added.push_back(PairSum(node, name, sum, terms[i]));
      sum = name;
    }
    NodeDef last = PairSum(node, node.name(), sum, terms.back());
    for (const std::string& control : controls) last.add_input(control);
    node = last;
  }
  for (const NodeDef& node : added) *graph->add_node() = node;
}

}  // namespace sn_tf
