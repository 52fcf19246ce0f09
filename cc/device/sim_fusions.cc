// SPDX-License-Identifier: Apache-2.0
//
// The CPU's fusions and oneDNN's kernels for the simulated accelerator.
// TensorFlow fuses ops, and replaces them by oneDNN's, where a node's device is
// a CPU. For as long as it does so, nodes of simulated devices go by the names
// of CPUs that do not exist (cc/ops/names.h): thus both devices run the same
// kernels, as fast and with the same results.
#include <memory>
#include <string>

#include "cc/ops/names.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace sn_tf {
namespace {

using tensorflow::DeviceNameUtils;
using tensorflow::Graph;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::OptimizationPassRegistry;

// Another name for `device`, or the same.
using Renaming = std::string (*)(const std::string& device);

std::string AsCpu(const std::string& device) {
  DeviceNameUtils::ParsedName name;
  if (!DeviceNameUtils::ParseFullName(device, &name) || !name.has_id ||
      name.type != kSimDeviceType) {
    return device;
  }
  name.type = tensorflow::DEVICE_CPU;
  name.id += kFirstSimAlias;
  return DeviceNameUtils::ParsedNameToString(name);
}

std::string AsSim(const std::string& device) {
  DeviceNameUtils::ParsedName name;
  if (!DeviceNameUtils::ParseFullName(device, &name) || !name.has_id ||
      name.type != tensorflow::DEVICE_CPU || name.id < kFirstSimAlias) {
    return device;
  }
  name.type = kSimDeviceType;
  name.id -= kFirstSimAlias;
  return DeviceNameUtils::ParsedNameToString(name);
}

void Rename(Renaming renaming, Graph* graph) {
  for (tensorflow::Node* const node : graph->op_nodes()) {
    if (node->has_assigned_device_name()) {
      node->set_assigned_device_name(renaming(node->assigned_device_name()));
    }
    node->set_requested_device(renaming(node->requested_device()));
  }
}

template <Renaming renaming>
class RenameNodes : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const GraphOptimizationPassOptions& options) override {
    if (options.partition_graphs != nullptr) {
      for (auto& [device, graph] : *options.partition_graphs) {
        Rename(renaming, graph.get());
      }
    } else if (options.graph != nullptr && options.is_function_graph) {
      // Graphs of a tf.compat.v1.Session are placed again after Grappler.
      Rename(renaming, options.graph->get());
    }
    return absl::OkStatus();
  }
};

using NameAsCpu = RenameNodes<AsCpu>;
using NameAsSim = RenameNodes<AsSim>;

// Far before and behind TensorFlow's own, which have one digit.
constexpr int kFirst = -1000;
constexpr int kLast = 1000;

// Grappler, which fuses, comes between these two.
REGISTER_OPTIMIZATION(OptimizationPassRegistry::POST_PLACEMENT, kLast,
                      NameAsCpu);
REGISTER_OPTIMIZATION(OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, kFirst,
                      NameAsSim);
// And oneDNN's pass between these.
REGISTER_OPTIMIZATION(OptimizationPassRegistry::POST_PARTITIONING, kFirst,
                      NameAsCpu);
REGISTER_OPTIMIZATION(OptimizationPassRegistry::POST_PARTITIONING, kLast,
                      NameAsSim);

}  // namespace
}  // namespace sn_tf
