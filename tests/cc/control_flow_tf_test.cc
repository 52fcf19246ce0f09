// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grappler_pass/control_flow.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

NodeDef* Add(const std::string& name, const std::string& op,
             const std::vector<std::string>& inputs, GraphDef* graph) {
  NodeDef* const node = graph->add_node();
  node->set_name(name);
  node->set_op(op);
  for (const std::string& input : inputs) node->add_input(input);
  return node;
}

// A loop `frame` around a conditional, with a loop inside one of its branches.
GraphDef LoopWithBranches() {
  GraphDef graph;
  const auto enter = [&graph](const char* name, const char* input,
                              const char* frame) {
    (*Add(name, "Enter", {input}, &graph)->mutable_attr())["frame_name"].set_s(
        frame);
  };
  Add("start", "Const", {}, &graph);
  enter("enter", "start", "outer");
  Add("merge", "Merge", {"enter", "next"}, &graph);
  Add("more", "Less", {"merge"}, &graph);
  Add("cond", "LoopCond", {"more"}, &graph);
  Add("switch", "Switch", {"merge", "cond"}, &graph);
  Add("exit", "Exit", {"switch"}, &graph);
  Add("after", "Abs", {"exit"}, &graph);
  Add("body", "Abs", {"switch:1"}, &graph);
  Add("by_control", "Const", {"^body"}, &graph);
  Add("which", "Less", {"body"}, &graph);
  Add("branch", "Switch", {"body", "which"}, &graph);
  Add("no", "Neg", {"branch"}, &graph);
  Add("yes", "Exp", {"branch:1"}, &graph);
  enter("inner_enter", "yes", "inner");
  Add("inner_merge", "Merge", {"inner_enter", "inner_next"}, &graph);
  Add("inner_cond", "LoopCond", {"inner_merge"}, &graph);
  Add("inner_switch", "Switch", {"inner_merge", "inner_cond"}, &graph);
  Add("inner_body", "Abs", {"inner_switch:1"}, &graph);
  Add("inner_next", "NextIteration", {"inner_body"}, &graph);
  Add("inner_exit", "Exit", {"inner_switch"}, &graph);
  Add("joined", "Merge", {"no", "inner_exit", "^yes"}, &graph);
  Add("next", "NextIteration", {"joined", "^by_control"}, &graph);
  return graph;
}

class ControlFlowTest : public testing::Test {
 protected:
  int Of(const std::string& name) const {
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (graph_.node(i).name() == name) return flow_.ContextOf(i);
    }
    ADD_FAILURE() << "no node " << name;
    return -1;
  }

  const GraphDef graph_ = LoopWithBranches();
  const ControlFlow flow_{graph_};
};

TEST_F(ControlFlowTest, WhatIsBeforeAndAfterALoopIsOutside) {
  ASSERT_TRUE(flow_.valid());
  EXPECT_EQ(Of("start"), ControlFlow::kRoot);
  EXPECT_EQ(Of("exit"), ControlFlow::kRoot);
  EXPECT_EQ(Of("after"), ControlFlow::kRoot);
}

TEST_F(ControlFlowTest, TheBodyOfALoopRunsLessOftenThanItsCondition) {
  EXPECT_NE(Of("merge"), ControlFlow::kRoot);
  EXPECT_EQ(Of("more"), Of("merge"));
  EXPECT_NE(Of("body"), Of("merge"));
  EXPECT_TRUE(flow_.Contains(Of("merge"), Of("body")));
  EXPECT_FALSE(flow_.Contains(Of("body"), Of("merge")));
  EXPECT_EQ(Of("by_control"), Of("body"));
  EXPECT_EQ(Of("next"), Of("body"));
}

TEST_F(ControlFlowTest, BranchesAreApartAndMeetAgain) {
  EXPECT_NE(Of("yes"), Of("no"));
  EXPECT_TRUE(flow_.Contains(Of("body"), Of("yes")));
  EXPECT_FALSE(flow_.Contains(Of("yes"), Of("no")));
  EXPECT_EQ(Of("joined"), Of("body"));
  EXPECT_EQ(Of("branch"), Of("body"));
}

TEST_F(ControlFlowTest, OnlyOneSideOfAPredicateRuns) {
  EXPECT_TRUE(flow_.Exclude(Of("yes"), Of("no")));
  EXPECT_TRUE(flow_.Exclude(Of("inner_body"), Of("no")));
  EXPECT_FALSE(flow_.Exclude(Of("yes"), Of("yes")));
  EXPECT_FALSE(flow_.Exclude(Of("body"), Of("yes")));
}

TEST_F(ControlFlowTest, ALoopOnABranchEndsOnThatBranch) {
  EXPECT_TRUE(flow_.Contains(Of("yes"), Of("inner_body")));
  EXPECT_EQ(Of("inner_exit"), Of("yes"));
}

TEST_F(ControlFlowTest, OutputsOfASwitchBelongToTheirSides) {
  int branch = -1;
  for (int i = 0; i < graph_.node_size(); ++i) {
    if (graph_.node(i).name() == "branch") branch = i;
  }
  EXPECT_EQ(flow_.ContextOfOutput({branch, 0}), Of("no"));
  EXPECT_EQ(flow_.ContextOfOutput({branch, 1}), Of("yes"));
  EXPECT_EQ(flow_.ContextOfOutput({branch, -1}), Of("body"));
}

TEST(ControlFlowOfBrokenGraphsTest, CirclesAndMissingNodesAreTold) {
  GraphDef circle;
  Add("a", "Abs", {"b"}, &circle);
  Add("b", "Abs", {"a"}, &circle);
  EXPECT_FALSE(ControlFlow(circle).valid());
  GraphDef missing;
  Add("a", "Abs", {"b"}, &missing);
  EXPECT_FALSE(ControlFlow(missing).valid());
}

}  // namespace
}  // namespace sn_tf
