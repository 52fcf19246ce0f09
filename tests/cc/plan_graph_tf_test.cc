// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "grappler_pass/plan_graph.h"
#include "grappler_pass/planner/phases.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

TEST(PlanGraphTest, EachOfItsPhasesIsTimed) {
  TakePhaseSeconds();
  ASSERT_TRUE(PlanGraph(SmallItem(64), OptionsOf(0, "host"), {}).ok());
  const PhaseSeconds seconds = TakePhaseSeconds();
  for (const Phase phase : {Phase::kShapes, Phase::kImport, Phase::kRoute,
                            Phase::kPlan, Phase::kVerify}) {
    EXPECT_GT(seconds[static_cast<size_t>(phase)], 0)
        << kPhaseNames[static_cast<size_t>(phase)];
  }
}

TEST(PlanGraphTest, AnotherNameForATensorTakesNoTime) {
  const auto planned = PlanGraph(SmallItem(64), OptionsOf(0, "host"), {});
  ASSERT_TRUE(planned.ok()) << planned.status();
  const MemoryGraph& graph = planned->imported.memory;
  EXPECT_EQ(graph.ops[OpNamed(graph, "a_flat")].seconds, 0);
  EXPECT_GT(graph.ops[OpNamed(graph, "b")].seconds, 0);
}

// A measured step's inputs, once more.
TEST(PlanGraphTest, WhatIsSpareIsGivenUpWhereNothingElseFits) {
  const auto item = SmallItem(64);
  PlannerOptions options = OptionsOf(0, "host");
  options.policy = "liveness";
  GraphKnowledge knowledge;
  knowledge.profile.emplace();
  for (const char* const op : {"a", "b", "c", "d", "end"}) {
    knowledge.profile->output_bytes[op] = {kSmallItemBuffer};
  }
  const auto roomy = PlanGraph(item, options, knowledge);
  ASSERT_TRUE(roomy.ok()) << roomy.status();
  EXPECT_EQ(roomy->imported.spare_bytes, kSmallItemBuffer);
  const NamedSchedule schedule =
      NamesOf(roomy->imported.memory, roomy->plan.schedule);
  options.budget_bytes = roomy->plan.peak_bytes - kSmallItemBuffer;
  for (const auto& tight : {PlanGraph(item, options, knowledge),
                            PlanOf(item, options, knowledge, schedule)}) {
    ASSERT_TRUE(tight.ok()) << tight.status();
    EXPECT_TRUE(tight->plan.feasible);
    EXPECT_EQ(tight->plan.peak_bytes, options.budget_bytes);
    EXPECT_EQ(tight->imported.spare_bytes, 0);
  }
  --options.budget_bytes;
  EXPECT_FALSE(PlanGraph(item, options, knowledge)->plan.feasible);
}

}  // namespace
}  // namespace sn_tf
