// SPDX-License-Identifier: Apache-2.0
//
// Graphs of TensorFlow written by hand for tests, and plans for them.
#ifndef SN_TF_TESTS_CC_SMALL_ITEM_H_
#define SN_TF_TESTS_CC_SMALL_ITEM_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "grappler_pass/plan_graph.h"
#include "grappler_pass/planner/options.h"
#include "grappler_pass/planner/plan.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/grappler/grappler_item.h"

namespace sn_tf {

class ItemBuilder {
 public:
  ItemBuilder() { item_.id = "test"; }

  // A node of floats; "^name" among the inputs is a control input.
  tensorflow::NodeDef* Add(const std::string& name, const std::string& op,
                           const std::vector<std::string>& inputs);

  // The step's input; a dimension of -1 is unknown.
  void AddInput(const std::string& name, const std::vector<int64_t>& dims);

  // A constant vector of one integer.
  void AddShape(const std::string& name, int32_t size);

  // Takes the shape from a node `flat`.
  void Reshape(const std::string& name, const std::string& input);

  tensorflow::grappler::GrapplerItem Build(const std::string& fetch);

 private:
  tensorflow::grappler::GrapplerItem item_;
};

// With a batch of 64, the bytes of every buffer of SmallItem but `flat`.
inline constexpr int64_t kSmallItemBuffer = 64 * 64 * sizeof(float);

// `a` is read early by `b` and late, through an alias, by `end`.
tensorflow::grappler::GrapplerItem SmallItem(int64_t batch);

// All buffers may move.
PlannerOptions OptionsOf(int64_t budget, const char* tiers);

OpId OpNamed(const MemoryGraph& graph, const std::string& name);

// A plan of these items; of those that are not ops, the name is that of the op
// that writes the buffer.
MemoryPlan PlanOf(
    const MemoryGraph& graph,
    const std::vector<std::pair<ItemKind, std::string>>& schedule);

// A line per node: "c = Mul(a, b, ^d)".
std::string ToText(const tensorflow::GraphDef& graph);

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_SMALL_ITEM_H_
