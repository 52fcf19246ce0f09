// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "grappler_pass/import.h"

namespace sn_tf {

std::string ImportedGraph::DeviceOf(const tensorflow::GraphDef& graph) const {
  for (size_t op = 0; op < node_index.size(); ++op) {
    const std::string& device = graph.node(node_index[op]).device();
    if (placement[op].on_device && !device.empty()) return device;
  }
  return "";
}

bool ImportedGraph::MayNeedLess() const {
  return !LoopNames().empty() ||
         std::any_of(conditionals.begin(), conditionals.end(),
                     [](const Conditional& one) {
                       return one.bytes > kMostBranchBytes;
                     });
}

std::set<std::string> ImportedGraph::LoopNames() const {
  std::set<std::string> names;
  for (size_t op = 0; op < role.size(); ++op) {
    if (role[op] == FlowRole::kInterior && in_loop[op]) {
      names.insert(memory.ops[op].name);
    }
  }
  return names;
}

const Conditional* ImportedGraph::ConditionalAt(OpId op) const {
  const auto found =
      std::find_if(conditionals.begin(), conditionals.end(),
                   [op](const Conditional& one) { return one.inside == op; });
  return found == conditionals.end() ? nullptr : &*found;
}

bool ImportedGraph::LeavesOrdered(OpId op) const {
  if (role[op] != FlowRole::kExit) return false;
  return std::any_of(conditionals.begin(), conditionals.end(),
                     [this, op](const Conditional& one) {
                       return std::binary_search(one.exits.begin(),
                                                 one.exits.end(),
                                                 memory.ops[op].name);
                     });
}

}  // namespace sn_tf
