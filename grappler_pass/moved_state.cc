// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/moved_state.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "cc/ops/names.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/types.pb.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;

// The op that runs next to `position` of the schedule in that direction (step 1
// or -1) and is none that moves a variable; "" where none does.
std::string OpBeside(const MemoryGraph& graph, const Schedule& schedule,
                     size_t position, int step) {
  const auto size = static_cast<int64_t>(schedule.size());
  for (auto p = static_cast<int64_t>(position) + step; 0 <= p && p < size;
       p += step) {
    if (schedule[p].kind != ItemKind::kRun) continue;
    const Op& op = graph.ops[schedule[p].id];
    if (op.type != kStateInOp && op.type != kStateOutOp) return op.name;
  }
  return "";
}

}  // namespace

std::vector<MovedState> MovedStateOf(const ImportedGraph& imported) {
  const MemoryGraph& graph = imported.memory;
  std::vector<MovedState> moved;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    if (op.type != kStateOutOp || op.reads.empty()) continue;
    const BufferId buffer = op.reads[0];
    moved.push_back(
        {graph.buffers[buffer].producer, static_cast<OpId>(i), buffer});
  }
  return moved;
}

void CountMovedState(const tensorflow::GraphDef& graph,
                     ImportedGraph* imported) {
  MemoryGraph& memory = imported->memory;
  std::map<std::string, OpId> in;  // By the variable's handle.
  const auto moves = [&](const char* type) {
    std::vector<OpId> ops;
    for (size_t i = 0; i < imported->node_index.size(); ++i) {
      const NodeDef& node = graph.node(imported->node_index[i]);
      if (node.op() == type && imported->placement[i].on_device &&
          node.attr().at(kPhaseAttr).s() == kPhaseUse) {
        ops.push_back(static_cast<OpId>(i));
      }
    }
    return ops;
  };
  const auto node_of = [&](OpId op) -> const NodeDef& {
    return graph.node(imported->node_index[op]);
  };
  for (const OpId op : moves(kStateInOp)) in[node_of(op).input(0)] = op;
  for (const OpId op : moves(kStateOutOp)) {
    const auto found = in.find(node_of(op).input(0));
    if (found == in.end()) continue;
    Buffer buffer;
    buffer.name = node_of(op).input(0);
    buffer.bytes = node_of(op).attr().at(kBytesAttr).i();
    buffer.producer = found->second;
    memory.resident_bytes =
        std::max<int64_t>(0, memory.resident_bytes - buffer.bytes);
    const auto id = static_cast<BufferId>(memory.buffers.size());
    memory.buffers.push_back(std::move(buffer));
    imported->dtypes.push_back(tensorflow::DT_INVALID);
    memory.ops[found->second].writes.push_back(id);
    // What it allocates is the buffer, and no workspace.
    memory.ops[found->second].workspace_bytes = 0;
    memory.ops[op].reads.push_back(id);
  }
}

void SetStateSeconds(double bytes_per_s, ImportedGraph* imported) {
  for (const MovedState& moved : MovedStateOf(*imported)) {
    const auto bytes =
        static_cast<double>(imported->memory.buffers[moved.buffer].bytes);
    imported->memory.ops[moved.in].seconds = bytes / bytes_per_s;
    imported->memory.ops[moved.out].seconds = bytes / bytes_per_s;
  }
}

void ReportMovedState(const ImportedGraph& imported, const Schedule& schedule,
                      PlanReport* report) {
  const MemoryGraph& graph = imported.memory;
  std::map<OpId, size_t> position;
  for (size_t p = 0; p < schedule.size(); ++p) {
    if (schedule[p].kind == ItemKind::kRun) position[schedule[p].id] = p;
  }
  for (const MovedState& moved : MovedStateOf(imported)) {
    const Buffer& buffer = graph.buffers[moved.buffer];
    ++report->state_buffers;
    report->state_bytes += buffer.bytes;
    const double seconds =
        graph.ops[moved.in].seconds + graph.ops[moved.out].seconds;
    // Of the ops of the graph, they are those that a step could do without.
    report->step_seconds -= seconds;
    report->added.stalls += seconds;
    const auto in = position.find(moved.in);
    const auto out = position.find(moved.out);
    if (in == position.end() || out == position.end()) continue;
    report->actions.push_back({"state", buffer.name, buffer.bytes,
                               OpBeside(graph, schedule, out->second, -1),
                               OpBeside(graph, schedule, in->second, 1)});
  }
}

}  // namespace sn_tf
