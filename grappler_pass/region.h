// SPDX-License-Identifier: Apache-2.0
//
// The part of a graph that is a training step, where the graph is a loop over
// steps: Keras' steps_per_execution, or a loop of the user's own.
//
// The region is a context of control flow (control_flow.h) with all that is in
// it. It is taken out as a graph of its own, which is planned and rewritten as
// any step is, and put back.
#ifndef SN_TF_GRAPPLER_PASS_REGION_H_
#define SN_TF_GRAPPLER_PASS_REGION_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/grappler/grappler_item.h"

namespace sn_tf {

struct Region {
  // Its nodes, as they are, but what they read from outside are arguments. What
  // is read outside is fetched.
  tensorflow::grappler::GrapplerItem item;
  // Per argument: the tensor that it stands for.
  std::map<std::string, std::string> arguments;
  // An argument that is there whenever the region runs, and only then.
  std::string anchor;
  // Per node: the nodes outside for which it waits by control.
  std::map<std::string, std::vector<std::string>> waits;
  // Nodes outside that read or wait for nodes of the region.
  std::vector<std::string> readers;
};

// The region of `item` in which the step is: of the contexts that take a step's
// inputs from a pipeline, that with most nodes. Where none does, the largest
// loop that writes state, if it has more nodes than are outside of all loops
// and branches. None where the step is the graph itself.
absl::StatusOr<std::optional<Region>> FindRegion(
    const tensorflow::grappler::GrapplerItem& item);

// `graph`, out of which `region` was taken, with what has become of the region.
// What is new in it runs where the region runs, and what comes after the region
// comes after the observation that a step has ended.
absl::StatusOr<tensorflow::GraphDef> PutBack(
    const tensorflow::GraphDef& graph, const Region& region,
    const tensorflow::GraphDef& rewritten);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_REGION_H_
