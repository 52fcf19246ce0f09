// SPDX-License-Identifier: Apache-2.0
//
// From GraphDef to GraphDef: import, plan and rewriting of a graph small
// enough to be read. The expected graphs stand in tests/golden; with
// SN_TF_UPDATE_GOLDEN set they are written anew, for review.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cc/ops/names.h"
#include "grappler_pass/import.h"
#include "grappler_pass/observe_nodes.h"
#include "grappler_pass/plan_graph.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/rewrite.h"
#include "grappler_pass/split_sums.h"
#include "grappler_pass/tensor_shapes.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;
using tensorflow::grappler::GrapplerItem;

constexpr int64_t kBuffer = kSmallItemBuffer;
constexpr int64_t kConstant = 64;  // `flat`, rounded up.

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

// What the pass does with an item whose sizes and profile are known.
class RewriteTest : public testing::Test {
 protected:
  GraphDef Rewrite(const GrapplerItem& item, const PlannerOptions& options) {
    GraphKnowledge knowledge;
    knowledge.profile = StepProfile();
    knowledge.profile->begin_bytes = kResident;
    const auto planned = PlanGraph(item, options, knowledge);
    EXPECT_TRUE(planned.ok()) << planned.status();
    plan_ = planned->plan;
    return RewriteGraph(item.graph, planned->imported, planned->plan,
                        planned->inputs, {1, 0, 2});
  }

  static constexpr int64_t kResident = 1000;
  // The step may find its input in memory once more than the profiled one.
  // Some room for what comes and goes around it is kept too.
  static constexpr int64_t kAround = kResident + kBuffer + 128 * 1024;
  MemoryPlan plan_;
};

TEST_F(RewriteTest, AnAliasOfASwappedBufferIsClonedForItsReader) {
  const GraphDef graph =
      Rewrite(SmallItem(64), OptionsOf(kAround + 3 * kBuffer, "host"));
  EXPECT_TRUE(plan_.feasible);
  EXPECT_EQ(plan_.route_peak_bytes, kAround + 4 * kBuffer);
  ExpectGolden("rewrite_swap.txt", ToText(graph));
}

TEST_F(RewriteTest, ARecomputedOpIsClonedBehindTheOpBefore) {
  const GraphDef graph =
      Rewrite(SmallItem(64), OptionsOf(kAround + 3 * kBuffer, "none"));
  EXPECT_TRUE(plan_.feasible);
  ExpectGolden("rewrite_recompute.txt", ToText(graph));
}

TEST_F(RewriteTest, TheRouteAloneOnlyAddsControlEdges) {
  const GraphDef graph = Rewrite(SmallItem(64), OptionsOf(0, "host"));
  ExpectGolden("rewrite_route.txt", ToText(graph));
}

TEST_F(RewriteTest, AProvisionalPlanWritesStateLast) {
  GrapplerItem item = SmallItem(64);
  const auto add = [&item](const char* name, const char* op) {
    NodeDef* const node = item.graph.add_node();
    node->set_name(name);
    node->set_op(op);
    node->set_device("/device:CPU:0");
    (*node->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
    return node;
  };
  auto& attr = *add("weight", "VarHandleOp")->mutable_attr();
  for (int i = 0; i < 2; ++i) {
    attr["shape"].mutable_shape()->add_dim()->set_size(64);
  }
  NodeDef* const update = add("update", "AssignSubVariableOp");
  update->add_input("weight");
  update->add_input("a");
  const auto planned =
      PlanGraph(item, OptionsOf(kResident + 6 * kBuffer, "host"), {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  ASSERT_TRUE(planned->provisional);
  EXPECT_TRUE(planned->plan.feasible);
  ExpectGolden("rewrite_delayed_write.txt",
               ToText(RewriteGraph(item.graph, planned->imported, planned->plan,
                                   planned->inputs, {1, 2, 3})));
}

TEST_F(RewriteTest, PartnersDoNotWaitForWhatOneOfThemReads) {
  ItemBuilder builder;
  builder.AddInput("x", {64, 64});
  builder.Add("a", "Square", {"x"});
  builder.Add("g", "Exp", {"x"});
  builder.Add("f", "Mul", {"a", "g"});
  builder.Add("s", "Exp", {"g"});
  builder.Add("out", "Mul", {"f", "s"});
  const GrapplerItem item = builder.Build("out");
  auto planned = PlanGraph(item, OptionsOf(0, "host"), {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  MemoryGraph& memory = planned->imported.memory;
  memory.ops[OpNamed(memory, "f")].partner = OpNamed(memory, "s");
  memory.ops[OpNamed(memory, "s")].partner = OpNamed(memory, "f");
  const MemoryPlan plan = PlanOf(memory, {{ItemKind::kRun, "x"},
                                          {ItemKind::kRun, "a"},
                                          {ItemKind::kRun, "g"},
                                          {ItemKind::kRecompute, "a"},
                                          {ItemKind::kRun, "f"},
                                          {ItemKind::kRun, "s"},
                                          {ItemKind::kRun, "out"}});
  const std::string text = ToText(
      RewriteGraph(item.graph, planned->imported, plan, planned->inputs, {}));
  EXPECT_NE(text.find("f = Mul(SnTf/a/recompute_0, g)\ns = Exp(g)\n"),
            std::string::npos)
      << text;
}

TEST_F(RewriteTest, SameInputSameGraph) {
  const PlannerOptions options = OptionsOf(kAround + 3 * kBuffer, "host");
  EXPECT_EQ(ToText(Rewrite(SmallItem(64), options)),
            ToText(Rewrite(SmallItem(64), options)));
}

TEST_F(RewriteTest, ARewrittenGraphIsKnown) {
  const GrapplerItem item = SmallItem(64);
  EXPECT_FALSE(IsObserved(item.graph, "CPU:0"));
  const GraphDef rewritten = Rewrite(item, OptionsOf(0, "host"));
  EXPECT_TRUE(IsObserved(rewritten, "CPU:0"));
  EXPECT_FALSE(IsObserved(rewritten, "SIM:0"));
}

TEST_F(RewriteTest, UnknownSizesAreObservedAndThenPlanned) {
  const GrapplerItem item = SmallItem(-1);
  const PlannerOptions options = OptionsOf(kAround + 3 * kBuffer, "host");
  GraphKnowledge knowledge;
  const auto unknown = PlanGraph(item, options, knowledge);
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  EXPECT_TRUE(unknown->provisional);
  ASSERT_EQ(unknown->inputs.size(), 1u);
  EXPECT_EQ(unknown->inputs[0].node, "x");
  const GraphDef graph = RewriteGraph(
      item.graph, unknown->imported, unknown->plan, unknown->inputs, {1, 0, 1});
  for (const NodeDef& node : graph.node()) {
    if (node.op() != kObserveOp || node.input_size() == 0) continue;
    if (node.attr().at(kPhaseAttr).s() == kPhaseBegin) {
      EXPECT_EQ(node.input(0), "x:0");
    }
  }
  knowledge.dims = {{64, 64}};
  const auto known = PlanGraph(item, options, knowledge);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_EQ(known->plan.floor_bytes, kConstant + 4 * kBuffer);
}

TEST_F(RewriteTest, AProfileOfLargerBuffersServesSmallerOnes) {
  const GrapplerItem item = SmallItem(-1);
  const PlannerOptions options = OptionsOf(10 * kBuffer, "host");
  GraphKnowledge knowledge;
  const auto unknown = PlanGraph(item, options, knowledge);
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  ASSERT_FALSE(unknown->imported.memory.buffers.empty());
  // A row of 256 bytes: too small to be followed.
  knowledge.dims = {{1, 64}};
  knowledge.profile = StepProfile();
  knowledge.profiled_schedule =
      NamesOf(unknown->imported.memory, unknown->plan.schedule);
  const auto known = PlanGraph(item, options, knowledge);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_TRUE(known->imported.memory.buffers.empty());
}

TEST_F(RewriteTest, ABatchSizeHintIsTakenForUnknownLeadingDimensions) {
  PlannerOptions options = OptionsOf(100 * kBuffer, "host");
  options.batch_size = 128;
  const auto planned = PlanGraph(SmallItem(-1), options, {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_FALSE(planned->provisional);
  EXPECT_EQ(planned->plan.floor_bytes, kConstant + 2 * 4 * kBuffer);
}

TEST_F(RewriteTest, ControlFlowIsLeftAloneAndNamed) {
  GrapplerItem item = SmallItem(64);
  NodeDef* const enter = item.graph.add_node();
  enter->set_name("loop_enter");
  enter->set_op("RefEnter");
  enter->add_input("a");
  (*enter->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
  (*enter->mutable_attr())["frame_name"].set_s("loop");
  const auto planned = PlanGraph(item, OptionsOf(kBuffer, "host"), {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_NE(planned->imported.unsupported.find("loop_enter"),
            std::string::npos);
}

TEST_F(RewriteTest, AMissingInputIsAnError) {
  GrapplerItem item = SmallItem(64);
  item.graph.mutable_node(4)->set_input(0, "nowhere");
  EXPECT_FALSE(PlanGraph(item, OptionsOf(kBuffer, "host"), {}).ok());
}

TEST(SplitSumsTest, LongSumsBecomeChainsInInputOrder) {
  ItemBuilder graph;
  graph.AddInput("x", {4});
  for (const char* name : {"p", "q", "r", "s"}) graph.Add(name, "Exp", {"x"});
  NodeDef* const sum = graph.Add("sum", "AddN", {"p", "q", "r", "s", "^x"});
  (*sum->mutable_attr())["N"].set_i(4);
  NodeDef* const pair = graph.Add("pair", "AddN", {"p", "q"});
  (*pair->mutable_attr())["N"].set_i(2);
  GraphDef split = graph.Build("sum").graph;
  SplitSums(&split);
  EXPECT_EQ(ToText(split),
            "x = Placeholder()\n"
            "p = Exp(x)\nq = Exp(x)\nr = Exp(x)\ns = Exp(x)\n"
            "sum = AddN(SnTf/sum/sum_2, s, ^x)\n"
            "pair = AddN(p, q)\n"
            "SnTf/sum/sum_1 = AddN(p, q)\n"
            "SnTf/sum/sum_2 = AddN(SnTf/sum/sum_1, r)\n");
}

}  // namespace
}  // namespace sn_tf
