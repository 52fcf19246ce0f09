// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/write_gates.h"

#include "cc/ops/names.h"
#include "grappler_pass/control_inputs.h"
#include "grappler_pass/observe_nodes.h"

namespace sn_tf {

using tensorflow::NodeDef;

std::string WriteGates::Add(const Names& after) {
  const std::string gate =
      AddObserveNode(&graph_, device_, {}, observer_, kPhaseWrites, count_++);
  NodeDef* const node = graph_.mutable_node(graph_.node_size() - 1);
  for (const std::string& before : after) WaitFor(before, node);
  return gate;
}

std::string WriteGates::Renew(const Names& frontier) {
  Names after = frontier;
  after.insert(after.end(), fetched_.begin(), fetched_.end());
  fetched_.clear();
  latest_ = Add(after);
  return latest_;
}

void WriteGates::Guard(const Names& frontier, NodeDef* write) {
  if (!are_wanted()) return;
  WaitFor(latest_.empty() ? Renew(frontier) : latest_, write);
}

void WriteGates::NoteOrdered(bool writes) {
  if (!writes) latest_.clear();
  fetched_.clear();
}

void WriteGates::NoteFetched(const std::string& node) {
  latest_.clear();
  fetched_.push_back(node);
}

}  // namespace sn_tf
