// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/vdnn.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "grappler_pass/planner/planner.h"

namespace sn_tf {
namespace {

constexpr const char* kConvolutions[] = {"Conv2D", "Conv3D",
                                         "DepthwiseConv2dNative"};
// Begins the types of convolutions into which TensorFlow has merged what comes
// after them.
constexpr char kFused[] = "_Fused";

bool IsConvolution(const Op& op) {
  return std::any_of(std::begin(kConvolutions), std::end(kConvolutions),
                     [&op](const char* type) {
                       return op.type == type ||
                              op.type == std::string(kFused) + type;
                     });
}

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
