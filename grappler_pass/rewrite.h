// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_REWRITE_H_
#define SN_TF_GRAPPLER_PASS_REWRITE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "grappler_pass/import.h"
#include "grappler_pass/planner/plan.h"
#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Numbers of the observers that the step reports to (cc/ops/observer.h).
struct StepObservers {
  int64_t begin = 0;
  int64_t writes = 0;  // Only where writes are delayed.
  int64_t end = 0;
};

// How what a plan moves out moves.
struct Swapping {
  // See FindPool of cc/pool/pool.h.
  std::string tiers = "host";
  std::string swap_dir;
  // It stays until memory is needed.
  bool when_needed = false;
};

// Writes a verified plan into the graph: swap ops, clones of recomputed ops
// and of the aliases between them and their readers, and control edges that
// keep the order of all that touches memory. `inputs` are observed at the
// beginning of the step.
tensorflow::GraphDef RewriteGraph(const tensorflow::GraphDef& graph,
                                  const ImportedGraph& imported,
                                  const MemoryPlan& plan,
                                  const std::vector<StepInput>& inputs,
                                  const StepObservers& observers,
                                  const Swapping& swapping = {});

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_REWRITE_H_
