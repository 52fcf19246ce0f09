// SPDX-License-Identifier: Apache-2.0
//
// The swap kernels on a device that has the processor's memory, and on one
// that copies by its own context, as GPUs do.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cc/ops/names.h"
#include "cc/ops/swap_handle.h"
#include "cc/ops/swapped_tensor.h"
#include "cc/ops/tensor_mover.h"
#include "cc/pool/pool.h"
#include "cc/pool/transfer_stats.h"
#include "tensorflow/core/framework/node_def_builder.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/variant.h"
#include "tests/cc/kernel_run.h"

namespace sn_tf {
namespace {

using tensorflow::DataType;
using tensorflow::NodeDef;
using tensorflow::NodeDefBuilder;
using tensorflow::Tensor;
using tensorflow::TensorShape;

bool ComesTrue(const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!condition() && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  return condition();
}

NodeDef SwapOutNode(DataType dtype) {
  NodeDef node;
  TF_CHECK_OK(NodeDefBuilder("out", kSwapOutOp)
                  .Input("tensor", 0, dtype)
                  .Finalize(&node));
  return node;
}

NodeDef SwapInNode(DataType dtype) {
  NodeDef node;
  TF_CHECK_OK(NodeDefBuilder("in", kSwapInOp)
                  .Input("handle", 0, tensorflow::DT_VARIANT)
                  .Attr(kTypeAttr, dtype)
                  .Finalize(&node));
  return node;
}

NodeDef OfHandleNode(const char* op) {
  NodeDef node;
  TF_CHECK_OK(NodeDefBuilder("of_handle", op)
                  .Input("handle", 0, tensorflow::DT_VARIANT)
                  .Finalize(&node));
  return node;
}

class SwapKernelsTest : public testing::TestWithParam<std::string> {
 protected:
  bool copies_by_context() const { return GetParam() != "CPU"; }

  // A tensor in the device's memory that counts from `first`.
  Tensor DeviceTensor(const TensorShape& shape, float first = 0) {
    Tensor tensor(&device_.device_memory, tensorflow::DT_FLOAT, shape);
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      tensor.flat<float>()(i) = first + static_cast<float>(i);
    }
    return tensor;
  }

  // Of a tensor that stays until memory is needed, where `when` says so.
  KernelRun SwapOut(Tensor tensor, const char* when = kWhenNow) {
    NodeDef node = SwapOutNode(tensor.dtype());
    (*node.mutable_attr())[kWhenAttr].set_s(when);
    return KernelRun(&device_, node, {std::move(tensor)});
  }

  absl::Status SwapWait(Tensor handle) {
    return KernelRun(&device_, OfHandleNode(kSwapWaitOp), {std::move(handle)})
        .status();
  }

  // The handle of a tensor that has left.
  Tensor Away(Tensor tensor) {
    KernelRun out = SwapOut(std::move(tensor));
    EXPECT_TRUE(out.status().ok()) << out.status();
    Tensor handle = out.output();
    EXPECT_TRUE(SwapWait(handle).ok());
    return handle;
  }

  KernelRun SwapIn(Tensor handle, DataType dtype = tensorflow::DT_FLOAT) {
    return KernelRun(&device_, SwapInNode(dtype), {std::move(handle)});
  }

  TransferStats Transfers() const {
    return copies_by_context() ? DeviceTransferStats(GetParam() + ":0")
                               : CpuTransferStats();
  }

  FakeDevice device_{GetParam()};
};

TEST_P(SwapKernelsTest, TensorsComeBackAsTheyWere) {
  for (const TensorShape& shape :
       {TensorShape({}), TensorShape({0, 3}), TensorShape({1}),
        TensorShape({7, 11, 13}), TensorShape({1 << 20})}) {
    KernelRun in = SwapIn(Away(DeviceTensor(shape, 5)));
    ASSERT_TRUE(in.status().ok()) << in.status();
    const Tensor back = in.output();
    ASSERT_EQ(back.shape(), shape);
    EXPECT_EQ(back.tensor_data(), DeviceTensor(shape, 5).tensor_data());
  }
}

TEST_P(SwapKernelsTest, CopiesGoTheWayOfTheDevice) {
  const Tensor handle = Away(DeviceTensor({100}));
  EXPECT_EQ(device_.pinned_memory.blocks_in_use, copies_by_context() ? 1 : 0);
  KernelRun in = SwapIn(handle);
  EXPECT_EQ(device_.context->copies, copies_by_context() ? 2 : 0);
}

TEST_P(SwapKernelsTest, ItsMemoryIsFreeWhenATensorHasLeft) {
  const Tensor handle = Away(DeviceTensor({100}));
  EXPECT_EQ(device_.device_memory.blocks_in_use, 0);
  KernelRun in = SwapIn(handle);
  EXPECT_EQ(device_.device_memory.blocks_in_use, 1);
  // Whoever reads it may write into it: nobody else refers to it.
  EXPECT_TRUE(in.output_is_the_only_reference());
}

TEST_P(SwapKernelsTest, APrefetchedTensorIsFetchedWithoutACopy) {
  const Tensor handle = Away(DeviceTensor({100}, 3));
  const TransferStats before = Transfers();
  EXPECT_TRUE(
      KernelRun(&device_, OfHandleNode(kPrefetchOp), {handle}).status().ok());
  KernelRun in = SwapIn(handle);
  ASSERT_TRUE(in.status().ok()) << in.status();
  EXPECT_EQ(in.output().tensor_data(), DeviceTensor({100}, 3).tensor_data());
  EXPECT_EQ(Transfers().swapped_in_bytes - before.swapped_in_bytes, 400);
  EXPECT_TRUE(in.output_is_the_only_reference());
}

TEST_P(SwapKernelsTest, WhatMayLeaveStaysWhereSomebodyTellsWhenToGo) {
  const TransferStats before = Transfers();
  const Tensor handle = SwapOut(DeviceTensor({100}), kWhenNeeded).output();
  ASSERT_TRUE(SwapWait(handle).ok());
  const TransferStats after = Transfers();
  const bool stays = FindCache(GetParam() + ":0") != nullptr;
  EXPECT_EQ(stays, !copies_by_context());
  EXPECT_EQ(after.swapped_out_bytes - before.swapped_out_bytes,
            stays ? 0 : 400);
  EXPECT_EQ(after.cache.cached_bytes - before.cache.cached_bytes,
            stays ? 400 : 0);
  EXPECT_TRUE(SwapIn(handle).status().ok());
  EXPECT_EQ(Transfers().cache.hits - before.cache.hits, stays ? 1 : 0);
}

TEST_P(SwapKernelsTest, BytesAreCountedUntilTheLastHandleIsGone) {
  const TransferStats before = Transfers();
  {
    Tensor handle = Away(DeviceTensor({64}));
    const Tensor copy = handle;
    TransferStats now = Transfers();
    EXPECT_EQ(now.swapped_out_bytes - before.swapped_out_bytes, 256);
    EXPECT_EQ(now.host_in_use_bytes - before.host_in_use_bytes, 256);
    EXPECT_TRUE(SwapIn(handle).status().ok());
    EXPECT_TRUE(SwapIn(handle).status().ok());
    handle = Tensor();
    now = Transfers();
    EXPECT_EQ(now.swapped_in_bytes - before.swapped_in_bytes, 512);
    EXPECT_EQ(now.host_in_use_bytes - before.host_in_use_bytes, 256);
  }
  // The thread of the last copy may hold it a moment longer.
  EXPECT_TRUE(ComesTrue([&] {
    return Transfers().host_in_use_bytes == before.host_in_use_bytes;
  }));
  EXPECT_EQ(device_.pinned_memory.blocks_in_use, 0);
}

TEST_P(SwapKernelsTest, TypesThatReferToOtherMemoryAreRefused) {
  for (const DataType dtype : {tensorflow::DT_STRING, tensorflow::DT_RESOURCE,
                               tensorflow::DT_VARIANT}) {
    for (const NodeDef& node : {SwapOutNode(dtype), SwapInNode(dtype)}) {
      const KernelRun run(&device_, node, {});
      EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(run.status().message().find(tensorflow::DataTypeString(dtype)),
                std::string::npos)
          << run.status();
    }
  }
}

TEST(SwapToTiersTest, UnknownTiersAreRefused) {
  FakeDevice device("CPU");
  NodeDef node = SwapOutNode(tensorflow::DT_FLOAT);
  (*node.mutable_attr())[kTiersAttr].set_s("cellar");
  const KernelRun run(&device, node, {});
  EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(run.status().message().find("Received: 'cellar'"),
            std::string::npos)
      << run.status();
}

TEST(SwapToTiersTest, AFolderThatIsNotThereIsRefused) {
  FakeDevice device("CPU");
  NodeDef node = SwapOutNode(tensorflow::DT_FLOAT);
  (*node.mutable_attr())[kTiersAttr].set_s("file:1MB");
  (*node.mutable_attr())[kSwapDirAttr].set_s("/nowhere");
  const KernelRun run(&device, node, {});
  EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(run.status().message().find("/nowhere"), std::string::npos)
      << run.status();
}

TEST_P(SwapKernelsTest, HandlesFromElsewhereAreRefused) {
  Tensor vector(tensorflow::DT_VARIANT, TensorShape({2}));
  Tensor other(tensorflow::DT_VARIANT, TensorShape({}));
  other.scalar<tensorflow::Variant>()() = 1.5f;
  Tensor empty(tensorflow::DT_VARIANT, TensorShape({}));
  empty.scalar<tensorflow::Variant>()() = SwapHandle();
  for (const Tensor& handle : {vector, other, empty}) {
    EXPECT_EQ(SwapIn(handle).status().code(),
              absl::StatusCode::kInvalidArgument);
    for (const char* const op : {kSwapWaitOp, kPrefetchOp}) {
      const absl::Status status =
          KernelRun(&device_, OfHandleNode(op), {handle}).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(status.message().find(op), std::string::npos) << status;
    }
  }
  const Tensor handle = SwapOut(DeviceTensor({4})).output();
  const absl::Status mismatch = SwapIn(handle, tensorflow::DT_INT32).status();
  EXPECT_EQ(mismatch.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(mismatch.message().find("int32"), std::string::npos) << mismatch;
}

TEST_P(SwapKernelsTest, AHandleOfAnotherKindOfDeviceIsRefused) {
  FakeDevice other(copies_by_context() ? "CPU" : "GPU");
  const Tensor handle = SwapOut(DeviceTensor({4})).output();
  for (const NodeDef& node :
       {SwapInNode(tensorflow::DT_FLOAT), OfHandleNode(kPrefetchOp)}) {
    const absl::Status status = KernelRun(&other, node, {handle}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("same device"), std::string::npos)
        << status;
  }
}

TEST_P(SwapKernelsTest, AStepThatIsCancelledFetchesNothing) {
  const Tensor handle = Away(DeviceTensor({4}));
  tensorflow::CancellationManager cancellation;
  cancellation.StartCancel();
  const KernelRun in(&device_, SwapInNode(tensorflow::DT_FLOAT), {handle},
                     &cancellation);
  EXPECT_EQ(in.status().code(), absl::StatusCode::kCancelled) << in.status();
}

TEST_P(SwapKernelsTest, AStepIsNotCancelledByWhatItFetched) {
  const Tensor handle = Away(DeviceTensor({4}));
  tensorflow::CancellationManager cancellation;
  const KernelRun in(&device_, SwapInNode(tensorflow::DT_FLOAT), {handle},
                     &cancellation);
  EXPECT_TRUE(in.status().ok()) << in.status();
  cancellation.StartCancel();
  // Of another step.
  EXPECT_TRUE(SwapIn(handle).status().ok());
}

INSTANTIATE_TEST_SUITE_P(Devices, SwapKernelsTest,
                         testing::Values("CPU", "GPU", "SIM"),
                         [](const auto& info) { return info.param; });

TEST(SwapByContextTest, AfterAFailedCopyOutATensorStays) {
  FakeDevice device("GPU");
  const TransferStats before = DeviceTransferStats("GPU:0");
  device.context->result = absl::InternalError("The link is down.");
  KernelRun out(&device, SwapOutNode(tensorflow::DT_FLOAT),
                {Tensor(&device.device_memory, tensorflow::DT_FLOAT, {16})});
  ASSERT_TRUE(out.status().ok()) << out.status();
  const Tensor handle = out.output();
  EXPECT_TRUE(
      KernelRun(&device, OfHandleNode(kSwapWaitOp), {handle}).status().ok());
  EXPECT_EQ(device.pinned_memory.blocks_in_use, 0);
  EXPECT_TRUE(KernelRun(&device, SwapInNode(tensorflow::DT_FLOAT), {handle})
                  .status()
                  .ok());
  EXPECT_EQ(device.context->copies, 1);
  const TransferStats after = DeviceTransferStats("GPU:0");
  EXPECT_EQ(after.swapped_out_bytes, before.swapped_out_bytes);
  EXPECT_EQ(after.swapped_in_bytes, before.swapped_in_bytes);
}

TEST(SwapByContextTest, AFailedCopyBackFailsTheOp) {
  FakeDevice device("GPU");
  const TransferStats before = DeviceTransferStats("GPU:0");
  const Tensor handle =
      KernelRun(&device, SwapOutNode(tensorflow::DT_FLOAT),
                {Tensor(&device.device_memory, tensorflow::DT_FLOAT, {16})})
          .output();
  EXPECT_TRUE(
      KernelRun(&device, OfHandleNode(kSwapWaitOp), {handle}).status().ok());
  device.context->result = absl::InternalError("The link is down.");
  EXPECT_EQ(
      KernelRun(&device, SwapInNode(tensorflow::DT_FLOAT), {handle}).status(),
      device.context->result);
  EXPECT_EQ(device.device_memory.blocks_in_use, 0);
  const TransferStats after = DeviceTransferStats("GPU:0");
  EXPECT_EQ(after.swapped_out_bytes - before.swapped_out_bytes, 64);
  EXPECT_EQ(after.swapped_in_bytes, before.swapped_in_bytes);
}

TEST(SwapByContextTest, TheHandleTakesNoDeviceMemory) {
  FakeDevice device("GPU");
  const Tensor handle = KernelRun(&device, SwapOutNode(tensorflow::DT_FLOAT),
                                  {Tensor(tensorflow::DT_FLOAT, {1000})})
                            .output();
  EXPECT_TRUE(
      KernelRun(&device, OfHandleNode(kSwapWaitOp), {handle}).status().ok());
  EXPECT_EQ(device.device_memory.blocks_in_use, 0);
  EXPECT_EQ(device.host_memory.blocks_in_use, 1);
}

TEST(SwapHandleTest, AHandleCannotBeReadBackFromText) {
  const tensorflow::Variant handle = SwapHandle(SwappedTensor::Make(
      Tensor(tensorflow::DT_FLOAT, {2}), MakePoolMover(nullptr, ""), 0));
  tensorflow::VariantTensorData data;
  handle.Encode(&data);
  EXPECT_EQ(data.type_name(), SwapHandle::kTypeName);
  tensorflow::Variant back = SwapHandle();
  EXPECT_FALSE(back.Decode(std::move(data)));
}

}  // namespace
}  // namespace sn_tf
