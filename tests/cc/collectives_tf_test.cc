// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grappler_pass/collectives.h"
#include "grappler_pass/import.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;

void Add(const std::string& name, const std::string& op, int device,
         const std::vector<std::string>& inputs, GraphDef* graph) {
  tensorflow::NodeDef* const node = graph->add_node();
  node->set_name(name);
  node->set_op(op);
  node->set_device("/device:SIM:" + std::to_string(device));
  for (const std::string& input : inputs) node->add_input(input);
}

// On each device two collective ops, the second after the first and after an
// op of the device's own.
GraphDef TwoReplicas() {
  GraphDef graph;
  for (const int d : {0, 1}) {
    const std::string of = "_" + std::to_string(d);
    Add("first" + of, "CollectiveReduceV2", d, {}, &graph);
    Add("between" + of, "NoOp", d, {"^first" + of}, &graph);
    Add("a_second" + of, "CollectiveReduceV2", d, {"^between" + of}, &graph);
  }
  return graph;
}

ImportedGraph Import(const GraphDef& graph) {
  ImportOptions options;
  options.device = "SIM:0";
  auto imported = ImportGraph(graph, {}, options);
  EXPECT_TRUE(imported.ok()) << imported.status();
  return *std::move(imported);
}

std::vector<std::string> Before(const ImportedGraph& imported,
                                const std::string& name) {
  std::vector<std::string> before;
  for (const Op& op : imported.memory.ops) {
    if (op.name != name) continue;
    for (const OpId id : op.after) {
      before.push_back(imported.memory.ops[id].name);
    }
  }
  return before;
}

using Names = std::vector<std::string>;

TEST(CollectivesTest, ThoseThatMeetAreAsOne) {
  const ImportedGraph imported = Import(TwoReplicas());
  EXPECT_EQ(Before(imported, "first_0"), Names());
  EXPECT_EQ(Before(imported, "between_0"), Names({"first_0", "first_1"}));
  EXPECT_EQ(Before(imported, "a_second_0"), Names({"between_0", "between_1"}));
  EXPECT_EQ(Before(imported, "a_second_1"), Names({"between_0", "between_1"}));
}

TEST(CollectivesTest, NothingIsPlannedWhereTheyCannotMeet) {
  GraphDef graph = TwoReplicas();
  Add("third_1", "CollectiveReduceV2", 1, {"^a_second_1"}, &graph);
  EXPECT_NE(Import(graph).unsupported, "");
  graph.mutable_node(0)->set_op("CollectiveGatherV2");
  EXPECT_NE(Import(graph).unsupported, "");
}

TEST(CollectivesTest, OneDeviceIsLeftAsItIs) {
  GraphDef graph;
  Add("first", "CollectiveReduceV2", 0, {}, &graph);
  Add("second", "CollectiveReduceV2", 0, {"^first"}, &graph);
  const ImportedGraph imported = Import(graph);
  EXPECT_EQ(imported.unsupported, "");
  EXPECT_EQ(Before(imported, "second"), Names({"first"}));
}

}  // namespace
}  // namespace sn_tf
