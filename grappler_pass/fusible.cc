// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/fusible.h"

#include <map>
#include <utility>
#include <vector>

namespace sn_tf {

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

}  // namespace sn_tf
