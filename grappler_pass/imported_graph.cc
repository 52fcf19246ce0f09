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

bool ImportedGraph::HasInterior() const {
  return std::find(role.begin(), role.end(), FlowRole::kInterior) != role.end();
}

std::set<std::string> ImportedGraph::InteriorNames() const {
  std::set<std::string> names;
  for (size_t op = 0; op < role.size(); ++op) {
    if (role[op] == FlowRole::kInterior) names.insert(memory.ops[op].name);
  }
  return names;
}

}  // namespace sn_tf
