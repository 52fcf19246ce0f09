// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/ops/names.h"
#include "grappler_pass/region.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;
using tensorflow::grappler::GrapplerItem;

// `value` is squared and added to a variable until `more` says no.
GrapplerItem Loop() {
  ItemBuilder graph;
  const auto enter = [&graph](const char* name, const char* input) {
    NodeDef* const node = graph.Add(name, "Enter", {input});
    (*node->mutable_attr())["frame_name"].set_s("loop");
    return node;
  };
  graph.AddInput("x", {64, 64});
  NodeDef* const variable = graph.Add("variable", "VarHandleOp", {});
  auto& attr = *variable->mutable_attr();
  attr.erase("T");
  attr["dtype"].set_type(tensorflow::DT_FLOAT);
  for (const int dim : {64, 64}) {
    attr["shape"].mutable_shape()->add_dim()->set_size(dim);
  }
  NodeDef* const handle = enter("handle", "variable");
  (*handle->mutable_attr())["T"].set_type(tensorflow::DT_RESOURCE);
  (*handle->mutable_attr())["is_constant"].set_b(true);
  enter("value", "x");
  (*graph.Add("merge", "Merge", {"value", "next"})->mutable_attr())["N"].set_i(
      2);
  (*graph.Add("more", "IsFinite", {"merge"})->mutable_attr())["T"].set_type(
      tensorflow::DT_FLOAT);
  graph.Add("cond", "LoopCond", {"more"});
  graph.Add("switch", "Switch", {"merge", "cond"});
  graph.Add("exit", "Exit", {"switch"});
  graph.Add("pivot", "Identity", {"switch:1"});
  graph.Add("square", "Square", {"pivot"});
  NodeDef* const add = graph.Add("add", "AssignAddVariableOp",
                                 {"handle", "square", "^pivot", "^more"});
  add->mutable_attr()->erase("T");
  (*add->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
  graph.Add("next", "NextIteration", {"square", "^add"});
  graph.Add("out", "Identity", {"exit"});
  return graph.Build("out");
}

TEST(RegionTest, TheBodyOfALoopIsTakenOut) {
  const auto region = FindRegion(Loop());
  ASSERT_TRUE(region.ok()) << region.status();
  ASSERT_TRUE(region->has_value());
  EXPECT_EQ(ToText((*region)->item.graph),
            "pivot = Identity(SnTf/region/switch_1)\n"
            "square = Square(pivot)\n"
            "add = AssignAddVariableOp(SnTf/region/handle_0, square, ^pivot)\n"
            "SnTf/region/handle_0 = _Arg()\n"
            "SnTf/region/switch_1 = _Arg()\n");
  EXPECT_EQ((*region)->item.fetch, std::vector<std::string>{"square"});
  EXPECT_EQ((*region)->readers, std::vector<std::string>{"next"});
  // What is there in each iteration, even that in which the loop ends, is none.
  EXPECT_EQ((*region)->anchor, "SnTf/region/switch_1");
}

TEST(RegionTest, ArgumentsHaveShapesAndHandlesSayOfWhat) {
  const auto region = FindRegion(Loop());
  ASSERT_TRUE(region.ok() && region->has_value());
  for (const NodeDef& node : (*region)->item.graph.node()) {
    if (node.op() != "_Arg") continue;
    const auto& attr = node.attr();
    const bool is_handle = node.name() == "SnTf/region/handle_0";
    EXPECT_EQ(attr.at("T").type(),
              is_handle ? tensorflow::DT_RESOURCE : tensorflow::DT_FLOAT);
    const auto& shape =
        attr.at(is_handle ? "_handle_shapes" : "_output_shapes").list();
    ASSERT_EQ(shape.shape_size(), 1);
    EXPECT_EQ(shape.shape(0).dim_size(), 2);
  }
}

TEST(RegionTest, APlanOfTheRegionIsPutBackIntoTheLoop) {
  const GrapplerItem loop = Loop();
  const auto region = FindRegion(loop);
  ASSERT_TRUE(region.ok() && region->has_value());
  tensorflow::GraphDef rewritten = (*region)->item.graph;
  rewritten.mutable_node(1)->add_input("^begin");
  NodeDef* const begin = rewritten.add_node();
  begin->set_name("begin");
  begin->set_op("NoOp");
  NodeDef* const end = rewritten.add_node();
  end->set_name("end");
  end->set_op(kObserveOp);
  end->add_input("^add");
  (*end->mutable_attr())[kPhaseAttr].set_s(kPhaseEnd);
  const auto whole = PutBack(loop.graph, **region, rewritten);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(ToText(*whole),
            "x = Placeholder()\n"
            "variable = VarHandleOp()\n"
            "handle = Enter(variable)\n"
            "value = Enter(x)\n"
            "merge = Merge(value, next)\n"
            "more = IsFinite(merge)\n"
            "cond = LoopCond(more)\n"
            "switch = Switch(merge, cond)\n"
            "exit = Exit(switch)\n"
            "pivot = Identity(switch:1)\n"
            "square = Square(pivot, ^begin)\n"
            "add = AssignAddVariableOp(handle:0, square, ^pivot, ^more)\n"
            "next = NextIteration(square, ^add, ^end)\n"
            "out = Identity(exit)\n"
            "SnTf/region/anchor = Identity(switch:1)\n"
            "begin = NoOp(^SnTf/region/anchor)\n"
            "end = SnObserve(^add)\n");
}

TEST(RegionTest, AStepWithoutALoopAroundItIsTheGraphItself) {
  const auto region = FindRegion(SmallItem(64));
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_FALSE(region->has_value());
}

TEST(RegionTest, ALoopThatReadsAndWritesNothingIsNoStep) {
  GrapplerItem loop = Loop();
  for (NodeDef& node : *loop.graph.mutable_node()) {
    if (node.name() != "add") continue;
    node.set_op("Identity");
    node.clear_input();
    node.add_input("square");
    (*node.mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
  }
  const auto region = FindRegion(loop);
  ASSERT_TRUE(region.ok()) << region.status();
  EXPECT_FALSE(region->has_value());
}

}  // namespace
}  // namespace sn_tf
