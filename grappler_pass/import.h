// SPDX-License-Identifier: Apache-2.0
//
// GraphDef to MemoryGraph.
#ifndef SN_TF_GRAPPLER_PASS_IMPORT_H_
#define SN_TF_GRAPPLER_PASS_IMPORT_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grappler_pass/conditional.h"
#include "grappler_pass/nested_flow.h"
#include "grappler_pass/placement.h"
#include "grappler_pass/planner/graph.h"
#include "grappler_pass/step_profile.h"
#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

struct TensorRef {
  OpId op = kNone;
  int port = 0;
};

// A MemoryGraph and what the rewriter needs to go back. Ops are the graph's
// nodes in order of name; a last one without a node stands for the fetches.
struct ImportedGraph {
  MemoryGraph memory;
  std::vector<int> node_index;                 // Of each op, in the GraphDef.
  std::vector<std::vector<TensorRef>> inputs;  // Data inputs, in order.
  std::vector<std::vector<BufferId>> output_buffer;  // Per op and port; kNone:
                                                     // resident or tiny.
  std::vector<NodePlacement> placement;              // Of each op.
  std::vector<FlowRole> role;                        // Of each op.
  std::vector<bool> in_loop;                         // Of each op.
  // Those whose branches have an order, by name.
  std::vector<Conditional> conditionals;
  // Per op and port: the data input whose memory it shares; -1: none.
  std::vector<std::vector<int>> aliased_input;
  std::vector<tensorflow::DataType> dtypes;  // Element type of each buffer.
  // Of the resident bytes: kept for more inputs than the step begins with.
  int64_t spare_bytes = 0;
  // Of the resident bytes: what the measured step needed beyond what its
  // schedule explains.
  int64_t unexplained_bytes = 0;
  int unknown_outputs = 0;  // Whose sizes are neither inferred nor measured.
  // See DelayWrites; kNone: writes come as soon as they can.
  OpId before_writes = kNone;
  std::string unsupported;  // Why nothing may be planned; empty: it may.

  // The planned device's name as the graph's nodes have it.
  std::string DeviceOf(const tensorflow::GraphDef& graph) const;

  // Whether loops or conditionals may need far less than is assumed.
  bool MayNeedLess() const;
  // Names of the ops in loops.
  std::set<std::string> LoopNames() const;

  // The conditional for whose inside `op` stands; nullptr: none.
  const Conditional* ConditionalAt(OpId op) const;
  // Whether `op` hands on what leaves one of `conditionals`.
  bool LeavesOrdered(OpId op) const;

  BufferId BufferOf(const TensorRef& tensor) const {
    return output_buffer[tensor.op][tensor.port];
  }
};

struct ImportOptions {
  // Whose memory is planned; tensors elsewhere have no buffers.
  std::string device = "CPU:0";
  // In use before the step begins.
  int64_t resident_bytes = 0;
  // Measured workspaces and sizes; nullptr: none yet.
  const StepProfile* profile = nullptr;
  // Nodes whose outputs are read after the step.
  std::vector<std::string> fetches;
};

// Folds aliases into buffers and marks what may move. Buffers too small to
// matter are counted as resident for the whole step.
absl::StatusOr<ImportedGraph> ImportGraph(const tensorflow::GraphDef& graph,
                                          const TensorInfos& infos,
                                          const ImportOptions& options);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_IMPORT_H_
