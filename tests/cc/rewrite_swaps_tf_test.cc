// SPDX-License-Identifier: Apache-2.0
//
// The swap ops of a rewritten graph, by plans written by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cc/ops/names.h"
#include "grappler_pass/plan_graph.h"
#include "grappler_pass/rewrite.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;
using tensorflow::grappler::GrapplerItem;

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

class RewriteSwapsTest : public testing::Test {
 protected:
  GraphDef Rewrite(const std::string& back_after, const Swapping& swapping) {
    const GrapplerItem item = SmallItem(64);
    const auto planned = PlanGraph(item, OptionsOf(0, "host"), {});
    EXPECT_TRUE(planned.ok()) << planned.status();
    return RewriteGraph(item.graph, planned->imported,
                        SwapOfA(planned->imported.memory, back_after),
                        planned->inputs, {1, 0, 2}, swapping);
  }
};

TEST_F(RewriteSwapsTest, ACopyThatBeginsEarlierThanItIsReadIsPrefetched) {
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

TEST_F(RewriteSwapsTest, ACopyThatBeginsWhereItIsReadIsNotPrefetched) {
  const GraphDef graph = Rewrite("d_flat", {});
  EXPECT_EQ(FindOp(graph, kPrefetchOp), nullptr);
  const NodeDef* const swap_in = FindOp(graph, kSwapInOp);
  ASSERT_NE(swap_in, nullptr);
  EXPECT_EQ(swap_in->input_size(), 2);
  EXPECT_EQ(swap_in->input(1), "^d_flat");
}

// TensorFlow makes one op of the two, which then would wait for itself.
TEST_F(RewriteSwapsTest, WhatComesBackForAPartnerDoesNotWaitForTheOther) {
  const GrapplerItem item = SmallItem(64);
  auto planned = PlanGraph(item, OptionsOf(0, "host"), {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  MemoryGraph& memory = planned->imported.memory;
  memory.ops[OpNamed(memory, "d_flat")].partner = OpNamed(memory, "a_flat");
  memory.ops[OpNamed(memory, "a_flat")].partner = OpNamed(memory, "d_flat");
  for (const char* const back_after : {"c", "d_flat"}) {
    const GraphDef graph =
        RewriteGraph(item.graph, planned->imported, SwapOfA(memory, back_after),
                     planned->inputs, {1, 0, 2}, Swapping());
    int copies = 0;
    for (const NodeDef& node : graph.node()) {
      if (node.op() != kSwapInOp && node.op() != kPrefetchOp) continue;
      ++copies;
      for (const std::string& input : node.input()) {
        EXPECT_NE(input, "^d_flat")
            << node.name() << ", back after " << back_after;
      }
    }
    EXPECT_GE(copies, 1);
  }
}

TEST_F(RewriteSwapsTest, SwapOpsAreToldWhereToAndWhen) {
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

TEST_F(RewriteSwapsTest, WhatNeedNotLeaveIsNotWaitedFor) {
  const GraphDef graph = Rewrite("c", {"host", "", true});
  EXPECT_EQ(FindOp(graph, kSwapOutOp)->attr().at(kWhenAttr).s(), kWhenNeeded);
  EXPECT_EQ(FindOp(graph, kSwapWaitOp), nullptr);
  EXPECT_NE(FindOp(graph, kSwapInOp), nullptr);
}

// SmallItem with two writes of a weight: of `b`, and then of `a`.
GrapplerItem ItemWithWrites() {
  GrapplerItem item = SmallItem(64);
  const auto add = [&item](const char* name, const char* op,
                           const std::vector<const char*>& inputs) {
    NodeDef* const node = item.graph.add_node();
    node->set_name(name);
    node->set_op(op);
    node->set_device("/device:CPU:0");
    (*node->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
    for (const char* const input : inputs) node->add_input(input);
    return node;
  };
  auto& attr = *add("weight", "VarHandleOp", {})->mutable_attr();
  for (int i = 0; i < 2; ++i) {
    attr["shape"].mutable_shape()->add_dim()->set_size(64);
  }
  add("first", "AssignSubVariableOp", {"weight", "b"});
  add("second", "AssignSubVariableOp", {"weight", "a", "^first"});
  return item;
}

// `a` leaves and comes back for the second write alone.
MemoryPlan SwapForSecondWrite(const MemoryGraph& graph) {
  std::vector<std::pair<ItemKind, std::string>> schedule;
  const auto run = [&schedule](const std::vector<const char*>& ops) {
    for (const char* op : ops) schedule.emplace_back(ItemKind::kRun, op);
  };
  run({"x", "flat", "a", "a_flat"});
  schedule.emplace_back(ItemKind::kSwapOut, "a");
  run({"b", "c", "d", "d_flat", "end"});
  schedule.emplace_back(ItemKind::kSwapWait, "a");
  run({"out", "weight", "first"});
  schedule.emplace_back(ItemKind::kSwapIn, "a");
  run({"second"});
  return PlanOf(graph, schedule);
}

const NodeDef& NodeNamed(const GraphDef& graph, const std::string& name) {
  return *std::find_if(
      graph.node().begin(), graph.node().end(),
      [&name](const NodeDef& node) { return node.name() == name; });
}

// Whether an observer that `write` waits for waits for `other`.
bool AgreedAfter(const GraphDef& graph, const std::string& write,
                 const std::string& other) {
  const auto waits_for = [&](const std::string& node, const std::string& name) {
    const auto& inputs = NodeNamed(graph, node).input();
    return std::find(inputs.begin(), inputs.end(), "^" + name) != inputs.end();
  };
  return std::any_of(
      graph.node().begin(), graph.node().end(), [&](const NodeDef& gate) {
        return gate.op() == kObserveOp && waits_for(write, gate.name()) &&
               waits_for(gate.name(), other);
      });
}

// The memory that it is fetched to may have been refused.
TEST_F(RewriteSwapsTest, AWriteIsAgreedToWhenWhatItReadsIsBack) {
  const GrapplerItem item = ItemWithWrites();
  const auto planned = PlanGraph(item, OptionsOf(0, "host"), {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  const ImportedGraph& imported = planned->imported;
  const GraphDef graph =
      RewriteGraph(item.graph, imported, SwapForSecondWrite(imported.memory),
                   planned->inputs, {1, 2, 3}, {});
  const NodeDef* const swap_in = FindOp(graph, kSwapInOp);
  ASSERT_NE(swap_in, nullptr);
  EXPECT_TRUE(AgreedAfter(graph, "second", swap_in->name())) << ToText(graph);
  EXPECT_FALSE(AgreedAfter(graph, "first", swap_in->name())) << ToText(graph);
}

}  // namespace
}  // namespace sn_tf
