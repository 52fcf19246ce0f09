// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/fusible.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sn_tf {
namespace {

// A gradient, and the input at which it reads its forward op's output.
struct WorkspacePair {
  const char* forward;
  const char* gradient;
  size_t input;
};

constexpr WorkspacePair kWorkspacePairs[] = {
    {"LRN", "LRNGrad", 2},
    {"MaxPool", "MaxPoolGrad", 1},
    {"MaxPool3D", "MaxPool3DGrad", 1},
};

// Bytes of its forward op's input that a gradient without the workspace gets
// through per second: measured, of a MaxPoolGrad on two cores.
constexpr double kApartBytesPerSecond = 3e9;

const WorkspacePair* FindPair(const std::string& gradient) {
  for (const WorkspacePair& pair : kWorkspacePairs) {
    if (gradient == pair.gradient) return &pair;
  }
  return nullptr;
}

}  // namespace

void PairFusible(ImportedGraph* graph) {
  std::map<std::pair<OpId, int>, OpId> bias_gradient;
  std::vector<Op>& ops = graph->memory.ops;
  for (size_t i = 0; i < graph->inputs.size(); ++i) {
    if (ops[i].type != "BiasAddGrad" || graph->inputs[i].empty()) continue;
    const TensorRef& input = graph->inputs[i][0];
    bias_gradient.insert({{input.op, input.port}, static_cast<OpId>(i)});
  }
  for (size_t i = 0; i < graph->inputs.size(); ++i) {
    if (ops[i].type != "Conv2DBackpropFilter") continue;
    if (graph->inputs[i].size() < 3) continue;
    const TensorRef& input = graph->inputs[i][2];
    const auto found = bias_gradient.find({input.op, input.port});
    if (found == bias_gradient.end()) continue;
    if (ops[found->second].partner != kNone) continue;
    ops[i].partner = found->second;
    ops[found->second].partner = static_cast<OpId>(i);
  }
}

void PriceApart(ImportedGraph* graph) {
  MemoryGraph& memory = graph->memory;
  for (size_t i = 0; i < graph->inputs.size(); ++i) {
    const WorkspacePair* const pair = FindPair(memory.ops[i].type);
    if (pair == nullptr || graph->inputs[i].size() <= pair->input) continue;
    const TensorRef& output = graph->inputs[i][pair->input];
    if (memory.ops[output.op].type != pair->forward) continue;
    const BufferId buffer = graph->BufferOf(output);
    if (buffer == kNone || graph->inputs[output.op].empty()) continue;
    const BufferId input = graph->BufferOf(graph->inputs[output.op][0]);
    if (input == kNone) continue;
    memory.buffers[buffer].apart_seconds +=
        static_cast<double>(memory.buffers[input].bytes) / kApartBytesPerSecond;
  }
}

}  // namespace sn_tf
