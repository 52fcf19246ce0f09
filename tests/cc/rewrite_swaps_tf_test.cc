// SPDX-License-Identifier: Apache-2.0
//
// The swap ops of a rewritten graph, by plans written by hand.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sn_tf
