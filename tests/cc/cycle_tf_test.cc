// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grappler_pass/cycle.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;

void Add(GraphDef* graph, const std::string& name,
         const std::vector<std::string>& inputs,
         const std::string& op = "AddN") {
  tensorflow::NodeDef* const node = graph->add_node();
  node->set_name(name);
  node->set_op(op);
  for (const std::string& input : inputs) node->add_input(input);
}

TEST(FindCycleTest, ThereIsNone) {
  GraphDef graph;
  Add(&graph, "c", {"a", "b:1", "^a"});
  Add(&graph, "b", {"a"});
  Add(&graph, "a", {"elsewhere"});
  EXPECT_TRUE(FindCycle(graph).empty());
  EXPECT_TRUE(FindCycle(GraphDef()).empty());
}

// `before` and `behind` are not in it.
TEST(FindCycleTest, TellsWhoWaitsForWhom) {
  GraphDef graph;
  Add(&graph, "before", {});
  Add(&graph, "behind", {"a"});
  Add(&graph, "a", {"before", "b"});
  Add(&graph, "b", {"^c"});
  Add(&graph, "c", {"a:1"});
  EXPECT_EQ(FindCycle(graph), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(FindCycleTest, ANodeMayWaitForItself) {
  GraphDef graph;
  Add(&graph, "a", {"^a"});
  EXPECT_EQ(FindCycle(graph), std::vector<std::string>{"a"});
}

TEST(FindCycleTest, LoopsAreNone) {
  GraphDef graph;
  Add(&graph, "enter", {}, "Enter");
  Add(&graph, "merge", {"enter", "next"}, "Merge");
  Add(&graph, "next", {"merge"}, "NextIteration");
  EXPECT_TRUE(FindCycle(graph).empty());
}

}  // namespace
}  // namespace sn_tf
