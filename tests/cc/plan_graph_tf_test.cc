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

}  // namespace
}  // namespace sn_tf
