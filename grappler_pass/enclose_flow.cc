// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/enclose_flow.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;

// One loop or conditional.
struct Enclosed {
  Op inside;  // After all that enters and is inside; exits come after it.
  Op left;    // After all exits.
  std::vector<OpId> exits;
};

void Finish(const std::string& name, Op* op) {
  op->name = name;
  op->type = "control flow";
  SortUnique(&op->after);
  SortUnique(&op->reads);
}

// What a node hands inside, or has inside without anybody's handing it there.
std::vector<BufferId> BuffersInto(const ImportedGraph& imported, OpId op) {
  if (imported.role[op] == FlowRole::kEntry) {
    return imported.memory.ops[op].reads;
  }
  std::vector<BufferId> buffers;
  for (const TensorRef& input : imported.inputs[op]) {
    const BufferId b = imported.BufferOf(input);
    if (b != kNone) buffers.push_back(b);
  }
  return buffers;
}

// By the name of a node of it.
std::map<std::string, Enclosed> FindEnclosed(const GraphDef& graph,
                                             const NestedFlow& nested,
                                             ImportedGraph* imported) {
  std::map<std::string, Enclosed> enclosed;
  for (size_t i = 0; i < imported->role.size(); ++i) {
    const auto op = static_cast<OpId>(i);
    const FlowRole role = imported->role[i];
    if (role == FlowRole::kPlain) continue;
    const int group = nested.group[imported->node_index[i]];
    Enclosed& flow = enclosed[graph.node(group).name()];
    if (role == FlowRole::kExit) {
      flow.left.after.push_back(op);
      flow.exits.push_back(op);
      continue;
    }
    flow.inside.after.push_back(op);
    for (const BufferId b : BuffersInto(*imported, op)) {
      imported->memory.buffers[b].movable = false;
      flow.left.reads.push_back(b);
    }
  }
  return enclosed;
}

// `inside` makes what `exit` hands on.
void MakeInside(OpId inside, OpId exit, Op* op, ImportedGraph* imported) {
  MemoryGraph& memory = imported->memory;
  for (const BufferId output : std::vector<BufferId>(memory.ops[exit].writes)) {
    const auto held = static_cast<BufferId>(memory.buffers.size());
    Buffer buffer;
    buffer.name = absl::StrCat("inside ", memory.buffers[output].name);
    buffer.bytes = memory.buffers[output].bytes;
    buffer.producer = inside;
    memory.buffers.push_back(std::move(buffer));
    imported->dtypes.push_back(imported->dtypes[output]);
    op->writes.push_back(held);
    Op& hands_on = memory.ops[exit];
    hands_on.reads.push_back(held);
    if (hands_on.in_place.empty()) hands_on.in_place = {output, {held}};
  }
}

void FillInside(const Enclosed& flow, Conditional* conditional, OpId inside,
                Op* op, ImportedGraph* imported) {
  conditional->inside = inside;
  for (const OpId exit : flow.exits) {
    // What comes next waits for the exits, so that these wait for nothing more.
    const std::vector<OpId>& before = imported->memory.ops[exit].after;
    op->after.insert(op->after.end(), before.begin(), before.end());
    MakeInside(inside, exit, op, imported);
  }
  int64_t written = 0;
  for (const BufferId b : op->writes) {
    written += imported->memory.buffers[b].bytes;
  }
  op->workspace_bytes = std::max<int64_t>(0, conditional->bytes - written);
  op->seconds = conditional->seconds;
}

}  // namespace

void EncloseNestedFlow(const GraphDef& graph, const NestedFlow& nested,
                       ImportedGraph* imported) {
  MemoryGraph& memory = imported->memory;
  for (auto& [name, flow] : FindEnclosed(graph, nested, imported)) {
    const auto inside = static_cast<OpId>(memory.ops.size());
    for (Conditional& conditional : imported->conditionals) {
      if (conditional.name != name) continue;
      FillInside(flow, &conditional, inside, &flow.inside, imported);
    }
    flow.left.after.push_back(inside);
    for (const OpId exit : flow.exits) {
      memory.ops[exit].after.push_back(inside);
    }
    Finish(absl::StrCat("inside ", name), &flow.inside);
    Finish(absl::StrCat("left ", name), &flow.left);
    memory.ops.push_back(std::move(flow.inside));
    memory.ops.push_back(std::move(flow.left));
  }
}

}  // namespace sn_tf
