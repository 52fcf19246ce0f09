// SPDX-License-Identifier: Apache-2.0
//
// Which variables a graph may move, and what moves them. The expected graph
// stands in tests/golden; with SN_TF_UPDATE_GOLDEN set it is written anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cc/ops/names.h"
#include "grappler_pass/moved_state.h"
#include "grappler_pass/plan_graph.h"
#include "grappler_pass/rewrite.h"
#include "grappler_pass/state_moves.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;
using tensorflow::grappler::GrapplerItem;

constexpr int64_t kSlot = kSmallItemBuffer;

void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(SN_TF_GOLDEN_DIR) + "/" + name;
  if (std::getenv("SN_TF_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "of " << path;
}

// Adds a variable of the size of a buffer, its read and its update by `value`.
void AddVariable(const std::string& name, ItemBuilder* graph) {
  NodeDef* const variable = graph->Add(name, "VarHandleOp", {});
  variable->mutable_attr()->erase("T");
  (*variable->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
  auto* const shape = (*variable->mutable_attr())["shape"].mutable_shape();
  shape->add_dim()->set_size(64);
  shape->add_dim()->set_size(64);
}

void Read(const std::string& name, const std::string& variable,
          ItemBuilder* graph) {
  NodeDef* const read = graph->Add(name, "ReadVariableOp", {variable});
  read->mutable_attr()->erase("T");
  (*read->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
}

void Update(const std::string& name, const std::string& variable,
            const std::string& value, ItemBuilder* graph) {
  NodeDef* const write =
      graph->Add(name, "AssignAddVariableOp", {variable, value});
  write->mutable_attr()->erase("T");
  (*write->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
}

// A weight that is read first and last, and a slot of its gradient that is used
// in the end.
GrapplerItem Momentum() {
  ItemBuilder graph;
  graph.AddInput("x", {64, 64});
  AddVariable("weight", &graph);
  AddVariable("slot", &graph);
  Read("w", "weight", &graph);
  graph.Add("a", "Softmax", {"x"});
  graph.Add("b", "NextAfter", {"a", "w"});
  graph.Add("c", "Softmax", {"b"});
  graph.Add("d", "Softmax", {"c"});
  graph.Add("e", "Softmax", {"d"});
  graph.Add("gradient", "NextAfter", {"e", "a"});
  Read("s", "slot", &graph);
  graph.Add("step", "NextAfter", {"gradient", "s"});
  Update("update_slot", "slot", "step", &graph);
  Update("update_weight", "weight", "step", &graph);
  graph.Add("out", "Identity", {"x"})->add_input("^update_slot");
  GrapplerItem item = graph.Build("out");
  for (NodeDef& node : *item.graph.mutable_node()) {
    if (node.name() == "out") node.add_input("^update_weight");
  }
  return item;
}

std::vector<StateMove> Find(const GrapplerItem& item) {
  const auto planned = PlanAsGiven(item, OptionsOf(0, "host"), {});
  EXPECT_TRUE(planned.ok()) << planned.status();
  return FindStateMoves(item.graph, planned->imported, 1);
}

TEST(StateMovesTest, WhatIsUsedInOneMomentMayMove) {
  const std::vector<StateMove> moves = Find(Momentum());
  ASSERT_EQ(moves.size(), 1);
  EXPECT_EQ(moves[0].variable, "slot");
  EXPECT_EQ(moves[0].bytes, kSlot);
  EXPECT_EQ(moves[0].users, (std::vector<std::string>{"s", "update_slot"}));
  EXPECT_EQ(moves[0].readers, (std::vector<std::string>{"step"}));
}

TEST(StateMovesTest, WhatIsFetchedStays) {
  ItemBuilder graph;
  AddVariable("slot", &graph);
  Read("s", "slot", &graph);
  EXPECT_TRUE(Find(graph.Build("s")).empty());
}

TEST(StateMovesTest, WhatIsUpdatedInPartStays) {
  GrapplerItem item = Momentum();
  for (NodeDef& node : *item.graph.mutable_node()) {
    if (node.name() == "update_slot") node.set_op("ResourceScatterUpdate");
  }
  const auto planned = PlanAsGiven(Momentum(), OptionsOf(0, "host"), {});
  ASSERT_TRUE(planned.ok());
  EXPECT_TRUE(FindStateMoves(item.graph, planned->imported, 1).empty());
}

TEST(StateMovesTest, TheGraphBecomes) {
  GrapplerItem item = Momentum();
  const std::string before = ToText(item.graph);
  const std::vector<StateMove> moves = Find(item);
  InsertStateMoves(moves, 1, {"host", ""}, &item.graph);
  EXPECT_EQ(MovedVariables("CPU:0", item.graph),
            (std::set<std::string>{"slot"}));
  EXPECT_TRUE(MovedVariables("SIM:0", item.graph).empty());
  ExpectGolden("state_moves.txt", ToText(item.graph));
  RemoveStateMoves("SIM:0", &item.graph);
  EXPECT_NE(ToText(item.graph), before);
  RemoveStateMoves("CPU:0", &item.graph);
  EXPECT_EQ(ToText(item.graph), before);
}

TEST(StateMovesTest, TiersThatAreMemory) {
  EXPECT_EQ(AddressableTiers("host", "CPU:0"), "host");
  EXPECT_EQ(AddressableTiers("compressed:1GB,file", "CPU:0"), "file");
  EXPECT_EQ(AddressableTiers("host:2GB,file", "SIM:0"), "host:2GB");
  EXPECT_EQ(AddressableTiers("file", "SIM:0"), "");
  EXPECT_EQ(AddressableTiers("none", "CPU:0"), "");
}

// Plans of that graph, of which a step has been measured that began with
// weight, slot and input in memory.
class PlanStateTest : public testing::Test {
 protected:
  PlanStateTest() {
    knowledge_.profile = StepProfile();
    knowledge_.profile->begin_bytes = kBegin;
    const auto ran = PlanAsGiven(item_, OptionsOf(0, "host"), {});
    EXPECT_TRUE(ran.ok()) << ran.status();
    knowledge_.profiled_schedule =
        NamesOf(ran->imported.memory, ran->plan.schedule);
  }

  PlannedGraph Plan(int64_t budget, const char* tiers = "host") {
    auto planned = PlanGraph(item_, OptionsOf(budget, tiers), knowledge_);
    EXPECT_TRUE(planned.ok()) << planned.status();
    return *std::move(planned);
  }

  int64_t SmallestWithout() {
    return PlanAsGiven(item_, OptionsOf(1, "host"), knowledge_)
        ->plan.peak_bytes;
  }

  static constexpr int64_t kBegin = 3 * kSlot;
  const GrapplerItem item_ = Momentum();
  GraphKnowledge knowledge_;
};

TEST_F(PlanStateTest, NothingMovesWhereAPlanDoesWithout) {
  const PlannedGraph planned = Plan(SmallestWithout());
  EXPECT_TRUE(planned.plan.feasible);
  EXPECT_FALSE(planned.graph.has_value());
  EXPECT_TRUE(planned.moves.empty());
}

TEST_F(PlanStateTest, BelowThatTheSlotMoves) {
  const int64_t smallest = SmallestWithout();
  const PlannedGraph planned = Plan(smallest - 1);
  ASSERT_TRUE(planned.plan.feasible);
  ASSERT_EQ(planned.moves.size(), 1);
  EXPECT_LE(planned.plan.peak_bytes, smallest - 1);
  PlanReport report;
  ReportMovedState(planned.imported, planned.plan.schedule, &report);
  ASSERT_EQ(report.actions.size(), 1);
  EXPECT_EQ(report.actions[0].action, "state");
  EXPECT_EQ(report.actions[0].buffer, "slot");
  EXPECT_EQ(report.state_bytes, kSlot);
  EXPECT_GT(report.added.stalls, 0);
  // None of the tiers is memory.
  EXPECT_FALSE(Plan(smallest - 1, "none").plan.feasible);
}

TEST_F(PlanStateTest, InfeasiblePlansKnowOfMoves) {
  const PlannedGraph planned = Plan(1);
  EXPECT_FALSE(planned.plan.feasible);
  EXPECT_LT(planned.plan.peak_bytes, SmallestWithout());
}

TEST_F(PlanStateTest, WhatWasOutInTheMeasuredStepIsNotCountedTwice) {
  const int64_t smallest = SmallestWithout();
  const PlannedGraph first = Plan(smallest - 1);
  // The same step, but the slot was out when it began.
  knowledge_.profile->begin_bytes -= kSlot;
  knowledge_.profiled_moves = first.moves;
  knowledge_.profiled_schedule =
      NamesOf(first.imported.memory, first.plan.schedule);
  EXPECT_EQ(SmallestWithout(), smallest);
  const PlannedGraph second = Plan(smallest - 1);
  EXPECT_TRUE(second.plan.feasible);
  EXPECT_EQ(second.plan.peak_bytes, first.plan.peak_bytes);
  // With more room it comes back before the step.
  const PlannedGraph roomy = Plan(2 * smallest);
  EXPECT_TRUE(roomy.moves.empty());
  ASSERT_TRUE(roomy.graph.has_value());
  EXPECT_NE(ToText(*roomy.graph).find("SnTf/slot/state_back"),
            std::string::npos);
}

TEST_F(PlanStateTest, AllElseWaitsUntilItIsOut) {
  const PlannedGraph planned = Plan(SmallestWithout() - 1);
  GraphDef graph = RewriteGraph(*planned.graph, planned.imported, planned.plan,
                                planned.inputs, {1, 0, 2});
  MoveStateBeforeStep("CPU:0", &graph);
  const std::string text = ToText(graph);
  EXPECT_NE(text.find("SnTf/observe_begin_1 = SnObserve(^SnTf/state_away)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("SnTf/state_away = NoOp(^SnTf/slot/state_away)"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace sn_tf
