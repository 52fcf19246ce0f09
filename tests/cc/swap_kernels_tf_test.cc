// SPDX-License-Identifier: Apache-2.0
//
// The swap kernels on a device that has the processor's memory, and on one
// that copies by its own context, as GPUs do.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "cc/ops/names.h"
#include "cc/ops/swap_handle.h"
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

  KernelRun SwapOut(Tensor tensor) {
    const NodeDef node = SwapOutNode(tensor.dtype());
    return KernelRun(&device_, node, {std::move(tensor)});
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
    KernelRun out = SwapOut(DeviceTensor(shape, 5));
    ASSERT_TRUE(out.status().ok()) << out.status();
    KernelRun in = SwapIn(out.output());
    ASSERT_TRUE(in.status().ok()) << in.status();
    const Tensor back = in.output();
    ASSERT_EQ(back.shape(), shape);
    EXPECT_EQ(back.tensor_data(), DeviceTensor(shape, 5).tensor_data());
  }
}

TEST_P(SwapKernelsTest, CopiesGoTheWayOfTheDevice) {
  KernelRun out = SwapOut(DeviceTensor({100}));
  EXPECT_EQ(device_.pinned_memory.blocks_in_use, copies_by_context() ? 1 : 0);
  KernelRun in = SwapIn(out.output());
  EXPECT_EQ(device_.context->copies, copies_by_context() ? 2 : 0);
}

TEST_P(SwapKernelsTest, BytesAreCountedUntilTheLastHandleIsGone) {
  const TransferStats before = Transfers();
  {
    Tensor handle = SwapOut(DeviceTensor({64})).output();
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
  EXPECT_EQ(Transfers().host_in_use_bytes, before.host_in_use_bytes);
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

TEST_P(SwapKernelsTest, UnknownTiersAreRefused) {
  NodeDef node = SwapOutNode(tensorflow::DT_FLOAT);
  (*node.mutable_attr())[kTierAttr].set_s("cellar");
  const KernelRun run(&device_, node, {});
  EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(run.status().message().find("Received: \"cellar\""),
            std::string::npos)
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
  }
  const Tensor handle = SwapOut(DeviceTensor({4})).output();
  const absl::Status mismatch = SwapIn(handle, tensorflow::DT_INT32).status();
  EXPECT_EQ(mismatch.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(mismatch.message().find("int32"), std::string::npos) << mismatch;
}

TEST_P(SwapKernelsTest, AHandleOfAnotherKindOfDeviceIsRefused) {
  FakeDevice other(copies_by_context() ? "CPU" : "GPU");
  const Tensor handle = SwapOut(DeviceTensor({4})).output();
  const absl::Status status =
      KernelRun(&other, SwapInNode(tensorflow::DT_FLOAT), {handle}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("same device"), std::string::npos) << status;
}

INSTANTIATE_TEST_SUITE_P(Devices, SwapKernelsTest,
                         testing::Values("CPU", "GPU", "SIM"),
                         [](const auto& info) { return info.param; });

TEST(SwapByContextTest, AFailedCopyFailsTheOpAndKeepsNothing) {
  FakeDevice device("GPU");
  const TransferStats before = DeviceTransferStats("GPU:0");
  Tensor tensor(&device.device_memory, tensorflow::DT_FLOAT, {16});
  const Tensor handle =
      KernelRun(&device, SwapOutNode(tensorflow::DT_FLOAT), {tensor}).output();
  device.context->result = absl::InternalError("The link is down.");
  EXPECT_EQ(
      KernelRun(&device, SwapOutNode(tensorflow::DT_FLOAT), {tensor}).status(),
      device.context->result);
  EXPECT_EQ(device.pinned_memory.blocks_in_use, 1);  // The first copy's.
  EXPECT_EQ(
      KernelRun(&device, SwapInNode(tensorflow::DT_FLOAT), {handle}).status(),
      device.context->result);
  const TransferStats after = DeviceTransferStats("GPU:0");
  EXPECT_EQ(after.swapped_out_bytes - before.swapped_out_bytes, 64);
  EXPECT_EQ(after.swapped_in_bytes, before.swapped_in_bytes);
}

TEST(SwapByContextTest, TheHandleTakesNoDeviceMemory) {
  FakeDevice device("GPU");
  const Tensor handle = KernelRun(&device, SwapOutNode(tensorflow::DT_FLOAT),
                                  {Tensor(tensorflow::DT_FLOAT, {1000})})
                            .output();
  EXPECT_EQ(device.device_memory.blocks_in_use, 0);
  EXPECT_EQ(device.host_memory.blocks_in_use, 1);
}

TEST(SwapHandleTest, AHandleCannotBeReadBackFromText) {
  const tensorflow::Variant handle =
      SwapHandle(std::make_shared<StoredTensor>());
  tensorflow::VariantTensorData data;
  handle.Encode(&data);
  EXPECT_EQ(data.type_name(), SwapHandle::kTypeName);
  tensorflow::Variant back = SwapHandle();
  EXPECT_FALSE(back.Decode(std::move(data)));
}

}  // namespace
}  // namespace sn_tf
