// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/collectives.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"

namespace sn_tf {
namespace {

// Not CollectiveInitializeCommunicator and CollectiveAssignGroup: each of them
// returns at once.
bool IsCollective(const tensorflow::NodeDef& node) {
  static constexpr const char* kPrefixes[] = {
      "CollectiveReduce", "CollectiveGather", "CollectiveBcast",
      "CollectiveAllToAll", "CollectivePermute"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&node](const char* prefix) {
                       return absl::StartsWith(node.op(), prefix);
                     });
}

// The collective ops of one device, in order.
using Column = std::vector<OpId>;

// TensorFlow launches them in the same order on each device, by control edges
// through a token; which of them meet is known to the running step only.
std::vector<Column> ColumnsByDevice(const tensorflow::GraphDef& graph,
                                    const ImportedGraph& imported) {
  std::map<std::string, Column> by_device;
  for (size_t i = 0; i < imported.node_index.size(); ++i) {
    const tensorflow::NodeDef& node = graph.node(imported.node_index[i]);
    if (!IsCollective(node)) continue;
    by_device[node.device()].push_back(static_cast<OpId>(i));
  }
  if (by_device.size() < 2) return {};
  const std::vector<int32_t> level =
      imported.memory.Levels(imported.memory.TopologicalOrder());
  std::vector<Column> columns;
  for (auto& [device, column] : by_device) {
    std::stable_sort(column.begin(), column.end(),
                     [&level](OpId a, OpId b) { return level[a] < level[b]; });
    columns.push_back(std::move(column));
  }
  return columns;
}

// Whether the k-th ops of all devices can be taken to meet.
bool Meet(const MemoryGraph& graph, const std::vector<Column>& columns) {
  for (const Column& column : columns) {
    if (column.size() != columns[0].size()) return false;
    for (size_t k = 0; k < column.size(); ++k) {
      if (graph.ops[column[k]].type != graph.ops[columns[0][k]].type) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

void CoupleCollectives(const tensorflow::GraphDef& graph,
                       ImportedGraph* imported) {
  const std::vector<Column> columns = ColumnsByDevice(graph, *imported);
  if (columns.empty()) return;
  std::vector<Op>& ops = imported->memory.ops;
  if (!Meet(imported->memory, columns)) {
    imported->unsupported =
        "the collective ops of its devices differ, so that an order for one "
        "device might let them wait for each other without end: nothing is "
        "moved in this graph";
    return;
  }
  const std::vector<std::vector<OpId>> next = imported->memory.Successors();
  for (size_t k = 0; k < columns[0].size(); ++k) {
    std::vector<OpId> before;
    for (const Column& column : columns) {
      const std::vector<OpId>& own = ops[column[k]].after;
      before.insert(before.end(), own.begin(), own.end());
    }
    SortUnique(&before);
    std::vector<OpId> members;
    for (const Column& column : columns) {
      ops[column[k]].after = before;
      members.push_back(column[k]);
    }
    for (const OpId member : members) {
      for (const OpId follower : next[member]) {
        std::vector<OpId>& after = ops[follower].after;
        after.insert(after.end(), members.begin(), members.end());
        SortUnique(&after);
      }
    }
  }
}

}  // namespace sn_tf
