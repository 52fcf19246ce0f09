// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/vdnn.h"

#include <algorithm>
#include <utility>

#include "grappler_pass/planner/op_kinds.h"
#include "grappler_pass/planner/planner.h"

namespace sn_tf {
namespace {

MemoryGraph OnlyInputsOfConvolutionsMove(MemoryGraph graph) {
  for (Buffer& buffer : graph.buffers) {
    buffer.movable = buffer.movable &&
                     std::any_of(buffer.readers.begin(), buffer.readers.end(),
                                 [&graph](OpId reader) {
                                   return IsConvolution(graph.ops[reader]);
                                 });
  }
  return graph;
}

MemoryPlan LetLeave(const MemoryGraph& graph, const PlannerOptions& options) {
  MemoryPlan plan = MakeSmallestPlan(graph, options);
  plan.budget_bytes = options.budget_bytes;
  plan.feasible = plan.peak_bytes <= options.budget_bytes;
  return plan;
}

MemoryPlan LetNothingLeave(const MemoryGraph& graph, PlannerOptions options) {
  options.policy = "liveness";
  return MakePlan(graph, options);
}

}  // namespace

bool IsVdnn(const std::string& policy) { return policy.rfind("vdnn_", 0) == 0; }

MemoryPlan MakeVdnnPlan(const MemoryGraph& graph,
                        const PlannerOptions& options) {
  if (options.policy == "vdnn_dyn") {
    MemoryPlan nothing = LetNothingLeave(graph, options);
    if (nothing.feasible) return nothing;
  }
  if (options.policy != "vdnn_all") {
    MemoryPlan some = LetLeave(OnlyInputsOfConvolutionsMove(graph), options);
    if (some.feasible || options.policy == "vdnn_conv") return some;
  }
  return LetLeave(graph, options);
}

}  // namespace sn_tf
