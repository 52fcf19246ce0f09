// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_CC_SWAPPED_TENSOR_FIXTURE_H_
#define SN_TF_TESTS_CC_SWAPPED_TENSOR_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "cc/ops/swapped_tensor.h"
#include "cc/pool/tensor_cache.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/tensor.h"
#include "tests/cc/fake_mover.h"
#include "tests/cc/kernel_run.h"

namespace sn_tf {

inline constexpr int64_t kTensorElements = 16;
inline constexpr int64_t kTensorBytes = kTensorElements * sizeof(float);

inline tensorflow::NodeDef NoOpNode() {
  tensorflow::NodeDef node;
  TF_CHECK_OK(tensorflow::NodeDefBuilder("none", "NoOp").Finalize(&node));
  return node;
}

// How a fetch ended, once it has.
struct Fetched {
  bool done = false;
  absl::Status status;
  tensorflow::Tensor tensor;
};

// One tensor, and the copies that it makes.
class SwappedTensorTest : public testing::Test {
 protected:
  explicit SwappedTensorTest(TensorCache* cache = nullptr) : copies_(cache) {
    swapped_ = Make(Ones());
  }

  // In the device's memory.
  tensorflow::Tensor Ones() {
    tensorflow::Tensor tensor(&device_.device_memory, tensorflow::DT_FLOAT,
                              {kTensorElements});
    tensor.flat<float>().setConstant(1);
    return tensor;
  }

  std::shared_ptr<SwappedTensor> Make(tensorflow::Tensor tensor) {
    return SwappedTensor::Make(std::move(tensor),
                               std::make_unique<FakeMover>(&copies_), 0);
  }

  // Out, to the end.
  void Leave() {
    swapped_->MoveOut();
    copies_.EndOut();
  }

  std::shared_ptr<Fetched> Fetch() {
    auto fetched = std::make_shared<Fetched>();
    swapped_->Fetch(
        run_.context(), 0,
        [fetched](const absl::Status& status, tensorflow::Tensor tensor) {
          EXPECT_FALSE(fetched->done);
          fetched->done = true;
          fetched->status = status;
          fetched->tensor = std::move(tensor);
        });
    return fetched;
  }

  static void ExpectOnes(const Fetched& fetched) {
    ASSERT_TRUE(fetched.done);
    ASSERT_TRUE(fetched.status.ok()) << fetched.status;
    ASSERT_EQ(fetched.tensor.NumElements(), kTensorElements);
    for (int64_t i = 0; i < kTensorElements; ++i) {
      EXPECT_EQ(fetched.tensor.flat<float>()(i), 1);
    }
  }

  // Blocks of the device's memory.
  int blocks() const { return device_.device_memory.blocks_in_use; }

  FakeDevice device_{"CPU"};
  KernelRun run_{&device_, NoOpNode(), {}};  // For its context.
  FakeCopies copies_;
  std::shared_ptr<SwappedTensor> swapped_;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_SWAPPED_TENSOR_FIXTURE_H_
