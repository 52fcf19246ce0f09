// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/control_inputs.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace sn_tf {

using tensorflow::NodeDef;

void RemoveControlInputs(NodeDef* node) {
  auto* const inputs = node->mutable_input();
  inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                               [](const std::string& input) {
                                 return absl::StartsWith(input, "^");
                               }),
                inputs->end());
}

void WaitFor(const std::string& before, NodeDef* node) {
  const bool known = std::any_of(node->input().begin(), node->input().end(),
                                 [&before](const std::string& input) {
                                   return input == before ||
                                          input == "^" + before ||
                                          absl::StartsWith(input, before + ":");
                                 });
  if (!known) node->add_input("^" + before);
}

void DropWaitsForInputs(const NodeDef& reader, NodeDef* node) {
  for (const std::string& input : reader.input()) {
    if (absl::StartsWith(input, "^")) continue;
    const std::string control =
        absl::StrCat("^", tensorflow::ParseTensorName(input).node());
    auto* const inputs = node->mutable_input();
    inputs->erase(std::remove(inputs->begin(), inputs->end(), control),
                  inputs->end());
  }
}

}  // namespace sn_tf
