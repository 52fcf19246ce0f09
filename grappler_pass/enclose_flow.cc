// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/enclose_flow.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grappler_pass/aliases.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {
namespace {

// Of all branches in a step.
constexpr int64_t kMostBranchBytes = 1 << 20;

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

std::vector<TensorInfo> InputInfos(const std::vector<TensorRef>& inputs,
                                   const MemoryGraph& memory,
                                   const TensorInfos& infos) {
  std::vector<TensorInfo> found;
  for (const TensorRef& input : inputs) {
    const auto outputs = infos.find(memory.ops[input.op].name);
    const bool known = outputs != infos.end() &&
                       input.port < static_cast<int>(outputs->second.size());
    found.push_back(known ? outputs->second[input.port] : TensorInfo());
  }
  return found;
}

// Of one op; more than may be where some are not known.
int64_t BytesOf(const tensorflow::NodeDef& node,
                const std::vector<TensorInfo>& inputs,
                const std::vector<TensorInfo>& outputs) {
  int64_t total = 0;
  for (size_t port = 0; port < outputs.size(); ++port) {
    const TensorInfo& info = outputs[port];
    if (!tensorflow::DataTypeCanUseMemcpy(info.dtype) ||
        AliasedInput(node, static_cast<int>(port), inputs, outputs) >= 0) {
      continue;
    }
    total += info.known() ? info.bytes() : kMostBranchBytes + 1;
  }
  return total;
}

}  // namespace

void BoundBranches(const tensorflow::GraphDef& graph, const TensorInfos& infos,
                   const NestedFlow& nested, ImportedGraph* imported) {
  int64_t total = 0;
  for (size_t i = 0; i < imported->role.size(); ++i) {
    const int index = imported->node_index[i];
    if (!nested.IsInterior(index) || nested.in_loop[index]) continue;
    const tensorflow::NodeDef& node = graph.node(index);
    const auto outputs = infos.find(node.name());
    if (outputs == infos.end()) continue;
    total +=
        BytesOf(node, InputInfos(imported->inputs[i], imported->memory, infos),
                outputs->second);
    if (total > kMostBranchBytes && imported->unsupported.empty()) {
      imported->unsupported =
          LeftAsItIs(node, ", a branch of which may need much memory");
    }
  }
  imported->memory.resident_bytes += total;
}

void EncloseNestedFlow(const tensorflow::GraphDef& graph,
                       const NestedFlow& nested, ImportedGraph* imported) {
  MemoryGraph& memory = imported->memory;
  std::map<std::string, Enclosed> enclosed;  // By the name of a node of it.
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
    if (role != FlowRole::kEntry) continue;
    for (const BufferId b : memory.ops[i].reads) {
      memory.buffers[b].movable = false;
      flow.left.reads.push_back(b);
    }
  }
  for (auto& [name, flow] : enclosed) {
    const auto inside = static_cast<OpId>(memory.ops.size());
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
