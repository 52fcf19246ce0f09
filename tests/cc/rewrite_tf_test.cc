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
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;
using tensorflow::grappler::GrapplerItem;

constexpr int64_t kBuffer = 64 * 64 * sizeof(float);
constexpr int64_t kConstant = 64;  // `flat`, rounded up.

class GraphBuilder {
 public:
  GraphBuilder() { item_.id = "test"; }

  // A node of floats; "^name" among the inputs is a control input.
  NodeDef* Add(const std::string& name, const std::string& op,
               const std::vector<std::string>& inputs) {
    NodeDef* const node = item_.graph.add_node();
    node->set_name(name);
    node->set_op(op);
    node->set_device("/device:CPU:0");
    for (const std::string& input : inputs) node->add_input(input);
    (*node->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
    return node;
  }

  // The step's input; a dimension of -1 is unknown.
  void AddInput(const std::string& name, const std::vector<int64_t>& dims) {
    NodeDef* const node = Add(name, "Placeholder", {});
    auto& attr = *node->mutable_attr();
    attr.erase("T");
    attr["dtype"].set_type(tensorflow::DT_FLOAT);
    for (const int64_t dim : dims) {
      attr["shape"].mutable_shape()->add_dim()->set_size(dim);
    }
  }

  void AddShape(const std::string& name, int32_t size) {
    NodeDef* const node = Add(name, "Const", {});
    auto& attr = *node->mutable_attr();
    attr.erase("T");
    attr["dtype"].set_type(tensorflow::DT_INT32);
    tensorflow::Tensor value(tensorflow::DT_INT32, {1});
    value.flat<int32_t>()(0) = size;
    value.AsProtoTensorContent(attr["value"].mutable_tensor());
  }

  void Reshape(const std::string& name, const std::string& input) {
    NodeDef* const node = Add(name, "Reshape", {input, "flat"});
    (*node->mutable_attr())["Tshape"].set_type(tensorflow::DT_INT32);
  }

  GrapplerItem Build(const std::string& fetch) {
    item_.fetch = {fetch};
    return std::move(item_);
  }

 private:
  GrapplerItem item_;
};

// `a` is read early by `b` and late, through an alias, by `end`.
GrapplerItem SmallItem(int64_t batch) {
  GraphBuilder graph;
  graph.AddInput("x", {batch, 64});
  graph.AddShape("flat", -1);
  graph.Add("a", "Square", {"x"});
  graph.Reshape("a_flat", "a");
  graph.Add("b", "Exp", {"a"});
  graph.Add("c", "Exp", {"b"});
  graph.Add("d", "Mul", {"b", "c"});
  graph.Reshape("d_flat", "d");
  graph.Add("end", "Mul", {"a_flat", "d_flat"});
  graph.Add("out", "Identity", {"end"});
  return graph.Build("out");
}

PlannerOptions Options(int64_t budget, const char* tiers) {
  PlannerOptions options;
  options.budget_bytes = budget;
  options.tiers = tiers;
  options.min_buffer_bytes = 1;
  return options;
}

OpId OpNamed(const MemoryGraph& graph, const std::string& name) {
  return static_cast<OpId>(
      std::find_if(graph.ops.begin(), graph.ops.end(),
                   [&name](const Op& op) { return op.name == name; }) -
      graph.ops.begin());
}

// A plan of these items; of those that are not ops, the name is that of the op
// that writes the buffer.
MemoryPlan PlanOf(
    const MemoryGraph& graph,
    const std::vector<std::pair<ItemKind, std::string>>& schedule) {
  MemoryPlan plan;
  for (const auto& [kind, name] : schedule) {
    const OpId op = OpNamed(graph, name);
    const bool of_op = kind == ItemKind::kRun || kind == ItemKind::kRecompute;
    plan.schedule.push_back({kind, of_op ? op : graph.ops[op].writes.at(0)});
  }
  return plan;
}

std::string ToText(const GraphDef& graph) {
  std::string text;
  for (const NodeDef& node : graph.node()) {
    text += node.name() + " = " + node.op() + "(";
    for (int i = 0; i < node.input_size(); ++i) {
      text += (i > 0 ? ", " : "") + node.input(i);
    }
    text += ")\n";
  }
  return text;
}

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
      Rewrite(SmallItem(64), Options(kAround + 3 * kBuffer, "host"));
  EXPECT_TRUE(plan_.feasible);
  EXPECT_EQ(plan_.route_peak_bytes, kAround + 4 * kBuffer);
  ExpectGolden("rewrite_swap.txt", ToText(graph));
}

// `a` leaves behind `b` and comes back behind `back_after`.
MemoryPlan SwapOfA(const MemoryGraph& graph, const std::string& back_after) {
  std::vector<std::pair<ItemKind, std::string>> schedule;
  for (const char* const op :
       {"x", "flat", "a", "b", "c", "d", "d_flat", "a_flat", "end", "out"}) {
    schedule.emplace_back(ItemKind::kRun, op);
    if (op == std::string("a")) schedule.emplace_back(ItemKind::kSwapOut, "a");
    if (op == std::string("b")) schedule.emplace_back(ItemKind::kSwapWait, "a");
    if (op == back_after) schedule.emplace_back(ItemKind::kSwapIn, "a");
  }
  return PlanOf(graph, schedule);
}

const NodeDef* FindOp(const GraphDef& graph, const std::string& op) {
  for (const NodeDef& node : graph.node()) {
    if (node.op() == op) return &node;
  }
  return nullptr;
}

class SwapRewriteTest : public testing::Test {
 protected:
  GraphDef Rewrite(const std::string& back_after, const Swapping& swapping) {
    const GrapplerItem item = SmallItem(64);
    const auto planned = PlanGraph(item, Options(0, "host"), {});
    EXPECT_TRUE(planned.ok()) << planned.status();
    return RewriteGraph(item.graph, planned->imported,
                        SwapOfA(planned->imported.memory, back_after),
                        planned->inputs, {1, 0, 2}, swapping);
  }
};

TEST_F(SwapRewriteTest, ACopyThatBeginsEarlierThanItIsReadIsPrefetched) {
  const GraphDef graph = Rewrite("c", {});
  const NodeDef* const prefetch = FindOp(graph, kPrefetchOp);
  ASSERT_NE(prefetch, nullptr);
  EXPECT_EQ(prefetch->input(1), "^c");
  const NodeDef* const swap_in = FindOp(graph, kSwapInOp);
  ASSERT_NE(swap_in, nullptr);
  EXPECT_EQ(swap_in->input(1), "^" + prefetch->name());
  EXPECT_EQ(swap_in->input(2), "^d_flat");
  // In the schedule, `a_flat` stands tenth, behind the three items of `a`.
  EXPECT_EQ(prefetch->attr().at(kNeededAtAttr).i(), 10);
  EXPECT_EQ(swap_in->attr().at(kNeededAtAttr).i(), 10);
}

TEST_F(SwapRewriteTest, ACopyThatBeginsWhereItIsReadIsNotPrefetched) {
  const GraphDef graph = Rewrite("d_flat", {});
  EXPECT_EQ(FindOp(graph, kPrefetchOp), nullptr);
  const NodeDef* const swap_in = FindOp(graph, kSwapInOp);
  ASSERT_NE(swap_in, nullptr);
  EXPECT_EQ(swap_in->input_size(), 2);
  EXPECT_EQ(swap_in->input(1), "^d_flat");
}

TEST_F(SwapRewriteTest, SwapOpsAreToldWhereToAndWhen) {
  const GraphDef graph = Rewrite("c", {"compressed,file", "/swap", false});
  const NodeDef* const out = FindOp(graph, kSwapOutOp);
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->attr().at(kTiersAttr).s(), "compressed,file");
  EXPECT_EQ(out->attr().at(kSwapDirAttr).s(), "/swap");
  EXPECT_EQ(out->attr().at(kWhenAttr).s(), kWhenNow);
  EXPECT_EQ(out->attr().at(kBufferAttr).s(), "a:0");
  // Where the plan waits for it to have left.
  EXPECT_EQ(out->attr().at(kNeededAtAttr).i(), 5);
  const NodeDef* const wait = FindOp(graph, kSwapWaitOp);
  ASSERT_NE(wait, nullptr);
  EXPECT_EQ(wait->input(0), out->name());
  EXPECT_EQ(wait->input(1), "^b");
}

TEST_F(SwapRewriteTest, WhatNeedNotLeaveIsNotWaitedFor) {
  const GraphDef graph = Rewrite("c", {"host", "", true});
  EXPECT_EQ(FindOp(graph, kSwapOutOp)->attr().at(kWhenAttr).s(), kWhenNeeded);
  EXPECT_EQ(FindOp(graph, kSwapWaitOp), nullptr);
  EXPECT_NE(FindOp(graph, kSwapInOp), nullptr);
}

TEST_F(RewriteTest, ARecomputedOpIsClonedBehindTheOpBefore) {
  const GraphDef graph =
      Rewrite(SmallItem(64), Options(kAround + 3 * kBuffer, "none"));
  EXPECT_TRUE(plan_.feasible);
  ExpectGolden("rewrite_recompute.txt", ToText(graph));
}

TEST_F(RewriteTest, TheRouteAloneOnlyAddsControlEdges) {
  const GraphDef graph = Rewrite(SmallItem(64), Options(0, "host"));
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
      PlanGraph(item, Options(kResident + 6 * kBuffer, "host"), {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  ASSERT_TRUE(planned->provisional);
  EXPECT_TRUE(planned->plan.feasible);
  ExpectGolden("rewrite_delayed_write.txt",
               ToText(RewriteGraph(item.graph, planned->imported, planned->plan,
                                   planned->inputs, {1, 2, 3})));
}

TEST_F(RewriteTest, PartnersDoNotWaitForWhatOneOfThemReads) {
  GraphBuilder builder;
  builder.AddInput("x", {64, 64});
  builder.Add("a", "Square", {"x"});
  builder.Add("g", "Exp", {"x"});
  builder.Add("f", "Mul", {"a", "g"});
  builder.Add("s", "Exp", {"g"});
  builder.Add("out", "Mul", {"f", "s"});
  const GrapplerItem item = builder.Build("out");
  auto planned = PlanGraph(item, Options(0, "host"), {});
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
  const PlannerOptions options = Options(kAround + 3 * kBuffer, "host");
  EXPECT_EQ(ToText(Rewrite(SmallItem(64), options)),
            ToText(Rewrite(SmallItem(64), options)));
}

TEST_F(RewriteTest, ARewrittenGraphIsKnown) {
  const GrapplerItem item = SmallItem(64);
  EXPECT_FALSE(IsObserved(item.graph, "CPU:0"));
  const GraphDef rewritten = Rewrite(item, Options(0, "host"));
  EXPECT_TRUE(IsObserved(rewritten, "CPU:0"));
  EXPECT_FALSE(IsObserved(rewritten, "SIM:0"));
}

TEST_F(RewriteTest, UnknownSizesAreObservedAndThenPlanned) {
  const GrapplerItem item = SmallItem(-1);
  const PlannerOptions options = Options(kAround + 3 * kBuffer, "host");
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
  const PlannerOptions options = Options(10 * kBuffer, "host");
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
  PlannerOptions options = Options(100 * kBuffer, "host");
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
  enter->set_op("Enter");
  enter->add_input("a");
  (*enter->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
  (*enter->mutable_attr())["frame_name"].set_s("loop");
  const auto planned = PlanGraph(item, Options(kBuffer, "host"), {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_NE(planned->imported.unsupported.find("loop_enter"),
            std::string::npos);
}

TEST_F(RewriteTest, AMissingInputIsAnError) {
  GrapplerItem item = SmallItem(64);
  item.graph.mutable_node(4)->set_input(0, "nowhere");
  EXPECT_FALSE(PlanGraph(item, Options(kBuffer, "host"), {}).ok());
}

TEST(SplitSumsTest, LongSumsBecomeChainsInInputOrder) {
  GraphBuilder graph;
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
