// SPDX-License-Identifier: Apache-2.0
//
// The SnObserve nodes of a graph: how a planned step reports to its planner.
#ifndef SN_TF_GRAPPLER_PASS_OBSERVE_NODES_H_
#define SN_TF_GRAPPLER_PASS_OBSERVE_NODES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Appends an SnObserve node of the given phase (cc/ops/names.h) that sees
// `inputs`, on their device so that nothing is copied for it, or else on
// `device`, whose memory is planned; returns its name. `number` tells those of
// one phase apart.
std::string AddObserveNode(tensorflow::GraphDef* graph,
                           const std::string& device,
                           const std::vector<StepInput>& inputs,
                           int64_t observer, const char* phase, int number = 0);

// Per node: whether it is one of `inputs` or runs before one, and so cannot
// wait for their observation.
std::vector<bool> FeedsInputs(const tensorflow::GraphDef& graph,
                              const std::vector<StepInput>& inputs);

// Makes every node that writes a variable wait for node `before`, except
// those in `feeds_inputs`.
void GuardStateWrites(tensorflow::GraphDef* graph,
                      const std::vector<bool>& feeds_inputs,
                      const std::string& before);

// Makes every node wait for node `observe`, except those in `feeds_inputs` and
// sources: when `observe` fails, nothing has run.
void HoldBack(tensorflow::GraphDef* graph,
              const std::vector<bool>& feeds_inputs,
              const std::string& observe);

// Whether the pass has been here before for that device ("SIM:0"): it is
// idempotent.
bool IsObserved(const tensorflow::GraphDef& graph, const std::string& device);

// Lets the observer keep what the step takes from its iterators on the CPU.
void KeepBatches(int64_t observer, tensorflow::GraphDef* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_OBSERVE_NODES_H_
