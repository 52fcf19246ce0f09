// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/delay_writes.h"

#include <utility>

#include "cc/ops/names.h"
#include "grappler_pass/observe_nodes.h"
#include "grappler_pass/op_traits.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace sn_tf {
namespace {

// `ops` and all that come after one of them.
std::vector<bool> Downstream(const MemoryGraph& graph,
                             const std::vector<OpId>& ops) {
  const std::vector<std::vector<OpId>> next = graph.Successors();
  std::vector<bool> reached(graph.ops.size(), false);
  std::vector<OpId> open = ops;
  for (const OpId op : ops) reached[op] = true;
  while (!open.empty()) {
    const OpId op = open.back();
    open.pop_back();
    for (const OpId after : next[op]) {
      if (!reached[after]) open.push_back(after);
      reached[after] = true;
    }
  }
  return reached;
}

// Ops outside `excluded` that none outside comes after.
std::vector<OpId> LastOutside(const MemoryGraph& graph,
                              const std::vector<bool>& excluded) {
  std::vector<bool> followed(graph.ops.size(), false);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (excluded[i]) continue;
    for (const OpId before : graph.ops[i].after) followed[before] = true;
  }
  std::vector<OpId> last;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!excluded[i] && !followed[i]) last.push_back(static_cast<OpId>(i));
  }
  return last;
}

// Slots that move would all be in memory at once where what reads them came
// before and what writes them after.
bool IsSlotOnTheMove(const tensorflow::NodeDef& node) {
  return node.op() == kStateInOp && node.attr().at(kSlotAttr).b() &&
         node.attr().at(kPhaseAttr).s() == kPhaseUse;
}

}  // namespace

void DelayWrites(const tensorflow::GraphDef& graph,
                 const std::vector<StepInput>& inputs,
                 ImportedGraph* imported) {
  MemoryGraph& memory = imported->memory;
  const std::vector<bool> feeds = FeedsInputs(graph, inputs);
  std::vector<OpId> writes;
  for (size_t i = 0; i < imported->node_index.size(); ++i) {
    const int node = imported->node_index[i];
    const bool moves_in = IsSlotOnTheMove(graph.node(node));
    if (moves_in || (IsStateWrite(graph.node(node)) && !feeds[node])) {
      writes.push_back(static_cast<OpId>(i));
    }
  }
  if (writes.empty()) return;
  // The op of the fetches is the end of the step.
  const auto end = static_cast<OpId>(imported->node_index.size());
  std::vector<OpId> late = writes;
  late.push_back(end);
  Op gather;
  gather.name = "all that comes before the writes";
  gather.type = "barrier";
  gather.after = LastOutside(memory, Downstream(memory, late));
  imported->before_writes = static_cast<OpId>(memory.ops.size());
  memory.ops.push_back(std::move(gather));
  for (const OpId write : writes) {
    memory.ops[write].after.push_back(imported->before_writes);
  }
  std::vector<OpId>& end_after = memory.ops[end].after;
  end_after.insert(end_after.end(), writes.begin(), writes.end());
  SortUnique(&end_after);
}

}  // namespace sn_tf
