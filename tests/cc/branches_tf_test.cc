// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grappler_pass/branches.h"
#include "grappler_pass/order_branches.h"
#include "grappler_pass/plan_graph.h"
#include "grappler_pass/planner/liveness.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;
using tensorflow::grappler::GrapplerItem;

constexpr int64_t kSide = 256;
constexpr int64_t kBuffer = kSide * kSide * sizeof(float);

// A step with a conditional, on one branch of which is more than on the other.
class BranchesTest : public testing::Test {
 protected:
  BranchesTest() {
    builder_.AddInput("x", {kSide, kSide});
    builder_.AddInput("p", {});
    builder_.Add("before", "Exp", {"x"});
    AddSwitch("enter", "before", "p");
    builder_.Add("no", "Neg", {"enter"});
    builder_.Add("yes1", "Exp", {"enter:1"});
    builder_.Add("yes2", "Sin", {"yes1"});
    builder_.Add("yes3", "Atan2", {"yes1", "yes2"});
  }

  void AddSwitch(const std::string& name, const std::string& value,
                 const std::string& predicate) {
    builder_.Add(name, "Switch", {value, predicate});
  }

  GrapplerItem Merge(const std::vector<std::string>& inputs) {
    (*builder_.Add("chosen", "Merge", inputs)->mutable_attr())["N"].set_i(2);
    builder_.Add("end", "Exp", {"chosen"});
    GrapplerItem item = builder_.Build("end");
    for (NodeDef& node : *item.graph.mutable_node()) {
      if (node.name() != "p") continue;
      (*node.mutable_attr())["dtype"].set_type(tensorflow::DT_BOOL);
      (*node.mutable_attr())["shape"].mutable_shape();
    }
    return item;
  }

  static PlannedGraph Plan(const GrapplerItem& item) {
    auto planned = PlanGraph(item, OptionsOf(0, "host"), {});
    EXPECT_TRUE(planned.ok()) << planned.status();
    return *std::move(planned);
  }

  static std::string Text(const Conditional& conditional) {
    std::string text;
    for (const Branch& branch : conditional.branches) {
      for (const BranchItem& item : branch.items) {
        text += item.nested.empty() ? item.node + " "
                                    : "(" + Text(item.nested[0]) + ") ";
      }
      text += "| ";
    }
    return text;
  }

  ItemBuilder builder_;
};

TEST_F(BranchesTest, EachHasAnOrderAndTheLargestTellsTheNeed) {
  const PlannedGraph planned = Plan(Merge({"no", "yes3"}));
  ASSERT_EQ(planned.imported.conditionals.size(), 1u);
  const Conditional& conditional = planned.imported.conditionals[0];
  EXPECT_EQ(Text(conditional), "no | yes1 yes2 yes3 | ");
  EXPECT_EQ(conditional.exits, std::vector<std::string>{"chosen"});
  EXPECT_EQ(conditional.bytes, 3 * kBuffer);
}

TEST_F(BranchesTest, WhatTheyNeedIsNeededWhileTheyRunAndNoLonger) {
  const PlannedGraph planned = Plan(Merge({"no", "yes3"}));
  const MemoryGraph& memory = planned.imported.memory;
  const Liveness liveness = AnalyzeLiveness(memory, planned.plan.schedule);
  const auto live_at = [&](OpId op) {
    for (size_t p = 0; p < planned.plan.schedule.size(); ++p) {
      if (planned.plan.schedule[p] == PlanItem{ItemKind::kRun, op}) {
        return liveness.live_bytes[p] - memory.resident_bytes;
      }
    }
    return int64_t{-1};
  };
  const OpId inside = planned.imported.conditionals[0].inside;
  // With what has entered.
  EXPECT_EQ(live_at(inside), 4 * kBuffer);
  EXPECT_EQ(live_at(OpNamed(memory, "chosen")), 2 * kBuffer);
  EXPECT_EQ(live_at(OpNamed(memory, "before")), kBuffer);
}

TEST_F(BranchesTest, BranchesThatMayBothRunNeedTheSum) {
  builder_.AddInput("q", {});
  AddSwitch("too", "before", "q");
  builder_.Add("also", "Neg", {"too:1"});
  GrapplerItem item = Merge({"also", "yes3"});
  for (NodeDef& node : *item.graph.mutable_node()) {
    if (node.name() != "q") continue;
    (*node.mutable_attr())["dtype"].set_type(tensorflow::DT_BOOL);
    (*node.mutable_attr())["shape"].mutable_shape();
  }
  const PlannedGraph planned = Plan(item);
  const auto& conditionals = planned.imported.conditionals;
  ASSERT_FALSE(conditionals.empty());
  for (const Conditional& one : conditionals) {
    if (one.branches.size() == 2) {
      EXPECT_EQ(one.bytes, 4 * kBuffer);
    }
  }
}

TEST_F(BranchesTest, ConditionalsOnBranchesAreOrderedToo) {
  AddSwitch("inner", "yes3", "p2");
  AddSwitch("p2", "p", "p");
  builder_.Add("a", "Neg", {"inner"});
  builder_.Add("b", "Exp", {"inner:1"});
  (*builder_.Add("ab", "Merge", {"a", "b"})->mutable_attr())["N"].set_i(2);
  builder_.Add("yes4", "Neg", {"ab"});
  GrapplerItem item = Merge({"no", "yes4"});
  for (NodeDef& node : *item.graph.mutable_node()) {
    if (node.name() == "p2") {
      (*node.mutable_attr())["T"].set_type(tensorflow::DT_BOOL);
      continue;
    }
    if (node.name() == "inner") node.set_input(1, "p2:1");
  }
  const PlannedGraph planned = Plan(item);
  ASSERT_EQ(planned.imported.conditionals.size(), 1u);
  EXPECT_EQ(Text(planned.imported.conditionals[0]),
            "yes1 yes2 yes3 inner (a | b | ) yes4 | no | ");
}

TEST_F(BranchesTest, WhatMayHaveAnySizeIsLeftAsItIs) {
  builder_.AddShape("flat", -1);
  builder_.Reshape("reshaped", "yes3");
  // A megabyte and more, all together.
  builder_.Add("yes5", "Exp", {"yes1"});
  builder_.Add("yes6", "Atan2", {"yes5", "yes1"});
  builder_.Reshape("also", "yes6");
  builder_.Add("yes7", "Atan2", {"reshaped", "also"});
  const PlannedGraph planned = Plan(Merge({"no", "yes7"}));
  EXPECT_NE(planned.imported.unsupported.find("may hand on any size"),
            std::string::npos)
      << planned.imported.unsupported;
}

TEST(OrderBranchesTest, WhatComesAfterWaitsForTheLastOfEachBranch) {
  ItemBuilder builder;
  builder.AddInput("x", {4});
  for (const char* name : {"no", "yes1", "yes2"}) {
    builder.Add(name, "Exp", {"x"});
  }
  builder.Add("chosen", "Merge", {"no", "yes2"});
  tensorflow::GraphDef graph = builder.Build("chosen").graph;
  Conditional conditional;
  conditional.exits = {"chosen"};
  conditional.branches = {{{{"no", false, {}}}},
                          {{{"yes1", false, {}}, {"yes2", true, {}}}}};
  WriteGates gates("/device:CPU:0", 7, &graph);
  const std::vector<std::string> after =
      OrderBranches(conditional, {"last"}, &gates, &graph);
  EXPECT_EQ(after, (std::vector<std::string>{"last", "chosen"}));
  EXPECT_EQ(ToText(graph),
            "x = Placeholder()\n"
            "no = Exp(x, ^last)\n"
            "yes1 = Exp(x, ^last)\n"
            "yes2 = Exp(x, ^SnTf/observe_writes_7, ^yes1)\n"
            "chosen = Merge(no, yes2)\n"
            "SnTf/observe_writes_7 = SnObserve(^yes1)\n");
}

}  // namespace
}  // namespace sn_tf
