// SPDX-License-Identifier: Apache-2.0
//
// Variables that leave a device's memory and come back.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "cc/allocator/arena_allocator.h"
#include "cc/ops/names.h"
#include "cc/ops/outside_buffer.h"
#include "cc/ops/variable_mover.h"
#include "cc/pool/pool.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/resource_handle.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/framework/tensor.h"
#include "tests/cc/fake_mover.h"
#include "tests/cc/kernel_run.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;
using tensorflow::NodeDefBuilder;
using tensorflow::ResourceHandle;
using tensorflow::Tensor;
using tensorflow::Var;

constexpr int64_t kElements = 40001;  // No whole number of pages.

int64_t StoredBytes() {
  int64_t stored = 0;
  for (const PoolTierStats& tier : AllTierStats()) {
    stored += tier.usage.stored_bytes;
  }
  return stored;
}

// One variable of a device. Of the tier that is the parameter.
class StateOpsTest : public testing::TestWithParam<std::string> {
 protected:
  explicit StateOpsTest(const std::string& device = "CPU") : device_(device) {
    variable_->is_initialized = true;
    *variable_->tensor() = Counting(0);
    handle_.scalar<ResourceHandle>()() =
        ResourceHandle::MakeRefCountingHandle(variable_, device_.name());
  }

  Tensor Counting(float first) {
    Tensor tensor(&device_.device_memory, tensorflow::DT_FLOAT, {kElements});
    for (int64_t i = 0; i < kElements; ++i) {
      tensor.flat<float>()(i) = first + static_cast<float>(i);
    }
    return tensor;
  }

  void Out(const std::string& tiers) {
    NodeDef node;
    TF_CHECK_OK(NodeDefBuilder("out", kStateOutOp)
                    .Input("variable", 0, tensorflow::DT_RESOURCE)
                    .Attr(kTiersAttr, tiers)
                    .Finalize(&node));
    KernelRun run(&device_, node, {handle_});
    EXPECT_TRUE(run.status().ok()) << run.status();
  }

  void In() {
    NodeDef node;
    TF_CHECK_OK(NodeDefBuilder("in", kStateInOp)
                    .Input("variable", 0, tensorflow::DT_RESOURCE)
                    .Finalize(&node));
    KernelRun run(&device_, node, {handle_});
    EXPECT_TRUE(run.status().ok()) << run.status();
  }

  void Back() {
    NodeDef node;
    TF_CHECK_OK(NodeDefBuilder("back", kStateBackOp).Finalize(&node));
    KernelRun run(&device_, node, {});
    EXPECT_TRUE(run.status().ok()) << run.status();
  }

  bool IsOut() const {
    return OutsideBuffer::Of(*variable_->tensor()) != nullptr;
  }

  static void ExpectCounting(const Tensor& tensor, float first) {
    ASSERT_EQ(tensor.NumElements(), kElements);
    for (int64_t i = 0; i < kElements; ++i) {
      ASSERT_EQ(tensor.flat<float>()(i), first + static_cast<float>(i)) << i;
    }
  }

  // Blocks of the device's memory.
  int blocks() const { return device_.device_memory.blocks_in_use; }

  FakeDevice device_;
  Var* const variable_ = new Var(tensorflow::DT_FLOAT);  // The handle's.
  Tensor handle_{tensorflow::DT_RESOURCE, {}};
};

TEST_P(StateOpsTest, TheValueCanBeReadWhereverItIs) {
  Out(GetParam());
  EXPECT_TRUE(IsOut());
  EXPECT_EQ(blocks(), 0);
  EXPECT_EQ(CpuArena()->state_outside_bytes(), kElements * 4);
  ExpectCounting(*variable_->tensor(), 0);
  In();
  EXPECT_FALSE(IsOut());
  EXPECT_EQ(blocks(), 1);
  EXPECT_EQ(CpuArena()->state_outside_bytes(), 0);
  EXPECT_EQ(StoredBytes(), 0);
  ExpectCounting(*variable_->tensor(), 0);
}

TEST_P(StateOpsTest, MovingTwiceIsMovingOnce) {
  In();
  EXPECT_EQ(blocks(), 1);
  Out(GetParam());
  const void* const data = variable_->tensor()->data();
  Out(GetParam());
  EXPECT_EQ(variable_->tensor()->data(), data);
  ExpectCounting(*variable_->tensor(), 0);
}

TEST_P(StateOpsTest, WhoeverReadsItKeepsWhatItRead) {
  Out(GetParam());
  const Tensor read = *variable_->tensor();
  In();
  EXPECT_EQ(CpuArena()->state_outside_bytes(), kElements * 4);
  ExpectCounting(read, 0);
}

TEST_P(StateOpsTest, NobodyUpdatesItInPlace) {
  EXPECT_TRUE(variable_->tensor()->RefCountIsOne());
  Out(GetParam());
  EXPECT_FALSE(variable_->tensor()->RefCountIsOne());
  In();
  EXPECT_TRUE(variable_->tensor()->RefCountIsOne());
}

TEST_P(StateOpsTest, WhatIsAssignedWhileItIsOutStays) {
  Out(GetParam());
  *variable_->tensor() = Counting(7);
  EXPECT_EQ(StoredBytes(), 0);
  In();
  ExpectCounting(*variable_->tensor(), 7);
}

TEST_P(StateOpsTest, WhatOthersReferToIsTheirsStill) {
  const Tensor shared = *variable_->tensor();
  Out(GetParam());
  EXPECT_TRUE(IsOut());
  EXPECT_EQ(blocks(), 1);
  ExpectCounting(shared, 0);
}

TEST_P(StateOpsTest, WithoutMemoryItStaysOut) {
  Out(GetParam());
  device_.device_memory.full = true;
  In();
  EXPECT_TRUE(IsOut());
  ExpectCounting(*variable_->tensor(), 0);
  device_.device_memory.full = false;
  In();
  EXPECT_FALSE(IsOut());
}

TEST_P(StateOpsTest, WhateverIsOutComesBackAtOnce) {
  Back();
  Out(GetParam());
  Back();
  EXPECT_FALSE(IsOut());
  ExpectCounting(*variable_->tensor(), 0);
}

TEST_P(StateOpsTest, NothingIsStoredWhenTheVariableIsGone) {
  Out(GetParam());
  handle_ = Tensor();
  EXPECT_EQ(StoredBytes(), 0);
  EXPECT_EQ(CpuArena()->state_outside_bytes(), 0);
  Back();
}

INSTANTIATE_TEST_SUITE_P(Tiers, StateOpsTest,
                         testing::Values("host", "file", "host:100KB,file"),
                         [](const auto& tiers) {
                           return std::to_string(tiers.index);
                         });

class StayingStateTest : public StateOpsTest {};

TEST_F(StayingStateTest, AFullTierLeavesItWhereItIs) {
  Out("host:100KB");
  EXPECT_FALSE(IsOut());
  EXPECT_EQ(blocks(), 1);
  ExpectCounting(*variable_->tensor(), 0);
}

TEST_F(StayingStateTest, WhatIsNoMemoryIsNoPlaceForIt) {
  Out("compressed");
  EXPECT_FALSE(IsOut());
  EXPECT_EQ(StoredBytes(), 0);
}

TEST_F(StayingStateTest, VariablesOfSparseUpdatesStay) {
  variable_->copy_on_read_mode = true;
  Out("host");
  EXPECT_FALSE(IsOut());
}

TEST_F(StayingStateTest, WithoutAValueThereIsNothingToMove) {
  variable_->is_initialized = false;
  Out("host");
  EXPECT_FALSE(IsOut());
}

// Of copies whose end the test decides.
class StateCopiesTest : public StateOpsTest {
 protected:
  void Begin() {
    tensorflow::core::RefCountPtr<Var> variable(variable_);
    variable_->Ref();
    MoveVariableOut(run_.context(), std::move(variable),
                    std::make_shared<FakeMover>(&copies_),
                    [this] { ++ended_; });
  }

  static NodeDef NoOp() {
    NodeDef node;
    TF_CHECK_OK(NodeDefBuilder("none", "NoOp").Finalize(&node));
    return node;
  }

  KernelRun run_{&device_, NoOp(), {}};
  FakeCopies copies_{nullptr};
  int ended_ = 0;
};

TEST_F(StateCopiesTest, WhatIsAssignedDuringTheCopyStays) {
  Begin();
  EXPECT_EQ(ended_, 0);
  *variable_->tensor() = Counting(7);
  copies_.EndOut();
  EXPECT_EQ(ended_, 1);
  EXPECT_FALSE(IsOut());
  ExpectCounting(*variable_->tensor(), 7);
  EXPECT_EQ(blocks(), 1);
}

TEST_F(StateCopiesTest, NobodyWritesWhatIsBeingCopied) {
  Begin();
  EXPECT_FALSE(variable_->tensor()->RefCountIsOne());
  copies_.EndOut();
  EXPECT_TRUE(IsOut());
}

TEST_F(StateCopiesTest, AfterAFaultItIsWhereItWas) {
  Begin();
  copies_.EndOut(absl::DataLossError("the disk's"));
  EXPECT_EQ(ended_, 1);
  EXPECT_FALSE(IsOut());
  EXPECT_TRUE(variable_->tensor()->RefCountIsOne());
  ExpectCounting(*variable_->tensor(), 0);
}

TEST_F(StateCopiesTest, WhatCannotBeReadBackStaysOut) {
  Begin();
  copies_.EndOut();
  tensorflow::core::RefCountPtr<Var> variable(variable_);
  variable_->Ref();
  MoveVariableIn(run_.context(), std::move(variable), /*may_wait=*/true,
                 [this] { ++ended_; });
  EXPECT_EQ(blocks(), 1);
  copies_.EndIn(absl::DataLossError("the disk's"));
  EXPECT_EQ(ended_, 2);
  EXPECT_TRUE(IsOut());
  EXPECT_EQ(blocks(), 0);
}

// Copies through the device's context.
class StateOnAcceleratorTest : public StateOpsTest {
 protected:
  StateOnAcceleratorTest() : StateOpsTest("GPU") {}
};

TEST_F(StateOnAcceleratorTest, ItLiesInPinnedMemory) {
  Out("host");
  EXPECT_TRUE(IsOut());
  EXPECT_EQ(blocks(), 0);
  EXPECT_EQ(device_.pinned_memory.blocks_in_use, 1);
  ExpectCounting(*variable_->tensor(), 0);
  In();
  EXPECT_EQ(blocks(), 1);
  device_.context->Finish();
  EXPECT_EQ(device_.pinned_memory.blocks_in_use, 0);
  ExpectCounting(*variable_->tensor(), 0);
}

}  // namespace
}  // namespace sn_tf
