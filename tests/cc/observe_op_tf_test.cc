// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "cc/ops/names.h"
#include "cc/ops/observer.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/tensor.h"
#include "tests/cc/kernel_run.h"

namespace sn_tf {
namespace {

using tensorflow::Tensor;
using tensorflow::TensorShape;

class Recorder : public StepObserver {
 public:
  absl::Status OnStepBegin(int64_t step_id,
                           const std::vector<TensorShape>& shapes) override {
    begun.emplace_back(step_id, shapes);
    return result;
  }
  absl::Status OnBeforeWrites(int64_t /*step_id*/) override { return writes; }
  absl::Status OnStepEnd(int64_t step_id) override {
    ended.push_back(step_id);
    return absl::OkStatus();
  }

  absl::Status writes;
  absl::Status result;
  std::vector<std::pair<int64_t, std::vector<TensorShape>>> begun;
  std::vector<int64_t> ended;
};

class ObserveOpTest : public testing::TestWithParam<const char*> {
 protected:
  ~ObserveOpTest() override { UnregisterObserver(number_); }

  absl::Status Observe(int64_t number, const char* phase,
                       const std::vector<Tensor>& inputs) {
    std::vector<tensorflow::NodeDefBuilder::NodeOut> edges;
    for (const Tensor& input : inputs) {
      edges.emplace_back("input", 0, input.dtype());
    }
    tensorflow::NodeDef node;
    TF_CHECK_OK(tensorflow::NodeDefBuilder("observe", kObserveOp)
                    .Input(edges)
                    .Attr(kObserverAttr, number)
                    .Attr(kPhaseAttr, phase)
                    .Finalize(&node));
    return KernelRun(&device_, node, inputs).status();
  }

  FakeDevice device_{GetParam()};
  std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
  int64_t number_ = RegisterObserver(recorder_);
};

TEST_P(ObserveOpTest, TheObserverLearnsTheStepAndTheShapes) {
  EXPECT_TRUE(Observe(number_, kPhaseBegin,
                      {Tensor(tensorflow::DT_FLOAT, {3, 4}),
                       Tensor(tensorflow::DT_STRING, TensorShape({})),
                       Tensor(tensorflow::DT_INT32, {0})})
                  .ok());
  ASSERT_EQ(recorder_->begun.size(), 1u);
  EXPECT_EQ(recorder_->begun[0].first, KernelRun::kStepId);
  EXPECT_EQ(recorder_->begun[0].second,
            (std::vector<TensorShape>{TensorShape({3, 4}), TensorShape({}),
                                      TensorShape({0})}));
  EXPECT_TRUE(recorder_->ended.empty());
}

TEST_P(ObserveOpTest, TheEndOfTheStepIsTold) {
  EXPECT_TRUE(Observe(number_, kPhaseEnd, {}).ok());
  EXPECT_TRUE(recorder_->begun.empty());
  EXPECT_EQ(recorder_->ended, std::vector<int64_t>{KernelRun::kStepId});
}

TEST_P(ObserveOpTest, TheObserverMayForbidWrites) {
  EXPECT_TRUE(Observe(number_, kPhaseWrites, {}).ok());
  recorder_->writes = absl::ResourceExhaustedError("Out of memory.");
  EXPECT_EQ(Observe(number_, kPhaseWrites, {}), recorder_->writes);
  EXPECT_TRUE(recorder_->begun.empty());
  EXPECT_TRUE(recorder_->ended.empty());
}

TEST_P(ObserveOpTest, TheObserversErrorFailsTheStep) {
  recorder_->result = absl::FailedPreconditionError("No plan fits.");
  EXPECT_EQ(Observe(number_, kPhaseBegin, {}), recorder_->result);
}

TEST_P(ObserveOpTest, AGraphMayOutliveItsObserver) {
  UnregisterObserver(number_);
  EXPECT_TRUE(Observe(number_, kPhaseBegin, {}).ok());
  EXPECT_TRUE(Observe(number_, kPhaseEnd, {}).ok());
  EXPECT_TRUE(recorder_->begun.empty());
}

INSTANTIATE_TEST_SUITE_P(Devices, ObserveOpTest,
                         testing::Values("CPU", "GPU", "SIM"),
                         [](const auto& info) { return info.param; });

TEST(ObserveOpDefTest, IsStateful) {
  const tensorflow::OpDef* op = nullptr;
  ASSERT_TRUE(
      tensorflow::OpRegistry::Global()->LookUpOpDef(kObserveOp, &op).ok());
  EXPECT_TRUE(op->is_stateful());
}

TEST(ObserverRegistryTest, NumbersAreNeverZeroAndNeverUsedAgain) {
  const int64_t first = RegisterObserver(std::make_shared<Recorder>());
  UnregisterObserver(first);
  EXPECT_EQ(FindObserver(first), nullptr);
  const auto recorder = std::make_shared<Recorder>();
  const int64_t second = RegisterObserver(recorder);
  EXPECT_GT(first, 0);
  EXPECT_GT(second, first);
  EXPECT_EQ(FindObserver(second), recorder);
  EXPECT_EQ(FindObserver(0), nullptr);
  UnregisterObserver(second);
  UnregisterObserver(second);
}

}  // namespace
}  // namespace sn_tf
