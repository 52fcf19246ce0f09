// SPDX-License-Identifier: Apache-2.0
//
// Which ops are taken to write in place, before and after a measured step.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "grappler_pass/plan_graph.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

constexpr int64_t kBytes = 64 * 64 * sizeof(float);

// Elementwise ops and others by turns; `a` is needed again at the end, so that
// `b` cannot be written over it.
tensorflow::grappler::GrapplerItem Item() {
  ItemBuilder item;
  item.AddInput("x", {64, 64});
  item.Add("a", "Cholesky", {"x"});
  item.Add("b", "Sin", {"a"});
  item.Add("c", "Sin", {"b"});
  item.Add("d", "Cholesky", {"c"});
  item.Add("square", "Mul", {"d", "d"});
  item.Add("end", "Mul", {"square", "a"});
  return item.Build("end");
}

class FindInPlaceTest : public testing::Test {
 protected:
  FindInPlaceTest() { Plan(); }

  void Plan() {
    const auto planned = PlanGraph(item_, OptionsOf(0, "host"), knowledge_);
    ASSERT_TRUE(planned.ok()) << planned.status();
    graph_ = planned->imported.memory;
    schedule_ = NamesOf(graph_, planned->plan.schedule);
  }

  // Of a step that allocated for these ops alone.
  void Measure(const std::vector<std::string>& allocating) {
    knowledge_.profile.emplace();
    for (const std::string& op : allocating) {
      knowledge_.profile->output_bytes[op] = {kBytes};
    }
    knowledge_.profiled_schedule = schedule_;
    Plan();
  }

  // The names of what `op` may be written over.
  std::string Overwritten(const std::string& op) const {
    std::string names;
    for (const BufferId b : graph_.ops[OpNamed(graph_, op)].in_place.inputs) {
      names += graph_.ops[graph_.buffers[b].producer].name + " ";
    }
    return names;
  }

  const tensorflow::grappler::GrapplerItem item_ = Item();
  GraphKnowledge knowledge_;
  MemoryGraph graph_;
  NamedSchedule schedule_;
};

TEST_F(FindInPlaceTest, ElementwiseOpsAreAssumedTo) {
  EXPECT_EQ(Overwritten("b"), "a ");
  EXPECT_EQ(Overwritten("c"), "b ");
  EXPECT_EQ(Overwritten("d"), "");
  EXPECT_EQ(Overwritten("end"), "square ") << "a has another reader";
  EXPECT_EQ(Overwritten("square"), "") << "it reads d twice";
}

TEST_F(FindInPlaceTest, AStepConfirmsIt) {
  Measure({"a", "b", "d", "square"});
  EXPECT_EQ(Overwritten("c"), "b ");
  EXPECT_EQ(Overwritten("b"), "a ") << "as others of its type";
  EXPECT_EQ(Overwritten("end"), "a square ") << "one of them";
}

TEST_F(FindInPlaceTest, AStepContradictsIt) {
  Measure({"a", "b", "c", "d", "square", "end"});
  for (const char* op : {"b", "c", "d", "end"}) {
    EXPECT_EQ(Overwritten(op), "") << op;
  }
}

TEST_F(FindInPlaceTest, WhatBecomesAnOutputMayBeAllocatedAsAWorkspace) {
  knowledge_.profile.emplace().workspace_bytes["c"] = kBytes;
  knowledge_.profiled_schedule = schedule_;
  Plan();
  EXPECT_EQ(Overwritten("c"), "");
}

TEST_F(FindInPlaceTest, AStepThatDidNotEndTellsNothing) {
  Measure({});
  ASSERT_EQ(Overwritten("end"), "a square ");
  knowledge_.profile->complete = false;
  Plan();
  EXPECT_EQ(Overwritten("end"), "square ");
}

// Sizes are inexact then: what allocated something is not taken to write in
// place.
TEST_F(FindInPlaceTest, OfAScaledStepItIsWhoAllocatedThatCounts) {
  Measure({"a", "b", "d", "square", "end"});
  knowledge_.profile = Grown(*knowledge_.profile, 1.5, 0);
  Plan();
  EXPECT_EQ(Overwritten("c"), "b ");
  EXPECT_EQ(Overwritten("end"), "");
}

}  // namespace
}  // namespace sn_tf
