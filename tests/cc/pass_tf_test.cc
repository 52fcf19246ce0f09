// SPDX-License-Identifier: Apache-2.0
//
// The optimizer as Grappler calls it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/ops/names.h"
#include "grappler_pass/session.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer_registry.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"
#include "tests/cc/small_item.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::grappler::CustomGraphOptimizer;
using tensorflow::grappler::CustomGraphOptimizerRegistry;
using tensorflow::grappler::GrapplerItem;

// Large enough to be worth a plan.
constexpr int64_t kBatch = 10'000;

class PassTest : public testing::Test {
 protected:
  PassTest() : session_(CreateSession()) {
    tensorflow::RewriterConfig_CustomGraphOptimizer config;
    auto& parameters = *config.mutable_parameter_map();
    parameters["policy"].set_s("liveness");
    parameters["session"].set_s(absl::StrCat(session_));
    EXPECT_TRUE(pass_->Init(&config).ok());
  }
  ~PassTest() override { DestroySession(session_); }

  absl::Status Optimize(const GrapplerItem& item) {
    optimized_.Clear();
    return pass_->Optimize(nullptr, item, &optimized_);
  }

  bool IsObserved() const {
    return std::any_of(
        optimized_.node().begin(), optimized_.node().end(),
        [](const auto& node) { return node.op() == kObserveOp; });
  }

  const int64_t session_;
  const std::unique_ptr<CustomGraphOptimizer> pass_ =
      CustomGraphOptimizerRegistry::CreateByNameOrNull(kPassName);
  GraphDef optimized_;
};

TEST_F(PassTest, TheLastCallRewrites) {
  const GrapplerItem item = SmallItem(kBatch);
  EXPECT_TRUE(absl::IsAborted(Optimize(item)));
  EXPECT_TRUE(FindSession(session_)->Reports().empty());
  ASSERT_TRUE(Optimize(item).ok());
  EXPECT_TRUE(IsObserved());
  ASSERT_EQ(FindSession(session_)->Reports().size(), 1);
  EXPECT_GT(FindSession(session_)->Reports()[0].plan_seconds, 0);
}

TEST_F(PassTest, AGraphThatIsLeftAsItIsIsNotCopied) {
  const GrapplerItem item = SmallItem(kBatch);
  EXPECT_TRUE(absl::IsAborted(Optimize(item)));
  EXPECT_EQ(optimized_.node_size(), 0);
  ASSERT_TRUE(Optimize(item).ok());
  GrapplerItem again = item.WithGraph(GraphDef(optimized_));
  EXPECT_TRUE(absl::IsAborted(Optimize(again)));
  EXPECT_EQ(optimized_.node_size(), 0);
}

TEST_F(PassTest, WhereThereIsNoPlanTheGraphIsTheSame) {
  const GrapplerItem item = SmallItem(1);  // Not worth a plan.
  EXPECT_TRUE(absl::IsAborted(Optimize(item)));
  ASSERT_TRUE(Optimize(item).ok());
  EXPECT_EQ(ToText(optimized_), ToText(item.graph));
}

}  // namespace
}  // namespace sn_tf
