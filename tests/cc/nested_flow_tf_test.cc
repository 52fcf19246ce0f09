// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grappler_pass/nested_flow.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

// A step with a loop and a conditional behind it.
class NestedFlowTest : public testing::Test {
 protected:
  NestedFlowTest() {
    Add("a", "Const", {});
    (*Add("enter", "Enter", {"a"})->mutable_attr())["frame_name"].set_s("loop");
    Add("merge", "Merge", {"enter", "next"});
    Add("cond", "LoopCond", {"merge"});
    Add("switch", "Switch", {"merge", "cond"});
    Add("body", "Abs", {"switch:1"});
    Add("next", "NextIteration", {"body"});
    Add("exit", "Exit", {"switch"});
    Add("b", "Abs", {"exit"});
    Add("choose", "Switch", {"b", "a"});
    Add("yes", "Neg", {"choose:1"});
    Add("chosen", "Merge", {"choose", "yes"});
    Add("c", "Abs", {"chosen"});
  }

  NodeDef* Add(const std::string& name, const std::string& op,
               const std::vector<std::string>& inputs) {
    NodeDef* const node = graph_.add_node();
    node->set_name(name);
    node->set_op(op);
    for (const std::string& input : inputs) node->add_input(input);
    return node;
  }

  std::string Roles() const {
    const NestedFlow flow = FindNestedFlow(graph_);
    EXPECT_EQ(flow.unsupported, "");
    std::string text;
    for (int i = 0; i < graph_.node_size(); ++i) {
      const char* const roles[] = {"", "entry", "interior", "exit"};
      const auto role = static_cast<int>(flow.role[i]);
      if (role == 0) continue;
      text += graph_.node(i).name() + " " + roles[role] + " of " +
              graph_.node(flow.group[i]).name() +
              (flow.in_loop[i] ? " in a loop" : "") + "\n";
    }
    return text;
  }

  GraphDef graph_;
};

TEST_F(NestedFlowTest, NodesHaveTheirRoles) {
  EXPECT_EQ(Roles(),
            "enter entry of body in a loop\n"
            "merge interior of body in a loop\n"
            "cond interior of body in a loop\n"
            "switch interior of body in a loop\n"
            "body interior of body in a loop\n"
            "next interior of body in a loop\n"
            "exit exit of body\n"
            "choose entry of choose\n"
            "yes interior of choose\n"
            "chosen exit of choose\n");
}

TEST_F(NestedFlowTest, StateIsNotWrittenInLoops) {
  graph_.mutable_node(5)->set_op("AssignVariableOp");
  EXPECT_NE(FindNestedFlow(graph_).unsupported.find(
                "AssignVariableOp body, which a loop in the step runs"),
            std::string::npos);
}

TEST_F(NestedFlowTest, FunctionalFormsAreLeftAsTheyAre) {
  Add("d", "While", {"c"});
  EXPECT_NE(FindNestedFlow(graph_).unsupported.find("While d"),
            std::string::npos);
}

TEST_F(NestedFlowTest, StateMayBeWrittenOnBranches) {
  graph_.mutable_node(10)->set_op("AssignVariableOp");
  EXPECT_EQ(FindNestedFlow(graph_).unsupported, "");
}

}  // namespace
}  // namespace sn_tf
