// SPDX-License-Identifier: Apache-2.0
//
// What keeps TensorFlow from holding large constants between steps: SnSplat
// stands for one whose elements are all the same, and SnHold stands before an
// op that would be computed once and kept.
#include <algorithm>
#include <cstring>

#include "cc/ops/names.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace sn_tf {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::shape_inference::InferenceContext;

absl::Status SplatShape(InferenceContext* context) {
  tensorflow::PartialTensorShape shape;
  TF_RETURN_IF_ERROR(context->GetAttr(kShapeAttr, &shape));
  tensorflow::shape_inference::ShapeHandle output;
  TF_RETURN_IF_ERROR(context->MakeShapeFromPartialTensorShape(shape, &output));
  context->set_output(0, output);
  return absl::OkStatus();
}

// Both are stateful in name only, so that nothing folds them.
REGISTER_OP(kSplatOp)
    .Output("tensor: T")
    .Attr("T: type")
    .Attr("value: tensor")
    .Attr("shape: shape")
    .SetIsStateful()
    .SetShapeFn(SplatShape);

REGISTER_OP(kHoldOp)
    .Input("tensor: T")
    .Output("held: T")
    .Attr("T: type")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);

class HoldOp : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    context->set_output(0, context->input(0));
  }
  bool IsExpensive() override { return false; }
};

REGISTER_KERNEL_BUILDER(Name(kHoldOp).Device(tensorflow::DEVICE_CPU), HoldOp);
REGISTER_KERNEL_BUILDER(Name(kHoldOp).Device(kSimDeviceType), HoldOp);
REGISTER_KERNEL_BUILDER(Name(kHoldOp)
                            .Device(kSimDeviceType)
                            .HostMemory("tensor")
                            .HostMemory("held")
                            .Label(kHostLabel),
                        HoldOp);

class SplatOp : public OpKernel {
 public:
  explicit SplatOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr(kValueAttr, &value_));
    OP_REQUIRES_OK(context, context->GetAttr(kShapeAttr, &shape_));
    OP_REQUIRES(context,
                value_.NumElements() == 1 &&
                    tensorflow::DataTypeCanUseMemcpy(value_.dtype()),
                absl::InvalidArgumentError(
                    "SnSplat expects one value of plain bytes. Received: " +
                    value_.DebugString()));
  }

  void Compute(OpKernelContext* context) override {
    Tensor* tensor = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, shape_, &tensor));
    const size_t total = tensor->TotalBytes();
    if (total == 0) return;
    auto* const bytes = static_cast<char*>(tensor->data());
    size_t filled = value_.TotalBytes();
    std::memcpy(bytes, value_.data(), filled);
    // Doubles what is there, up to what stays in the first cache.
    constexpr size_t kPiece = 16 * 1024;
    while (filled < total) {
      const size_t next = std::min({filled, total - filled, kPiece});
      std::memcpy(bytes + filled, bytes, next);
      filled += next;
    }
  }

 private:
  Tensor value_;
  tensorflow::TensorShape shape_;
};

REGISTER_KERNEL_BUILDER(Name(kSplatOp).Device(tensorflow::DEVICE_CPU), SplatOp);
REGISTER_KERNEL_BUILDER(Name(kSplatOp).Device(kSimDeviceType), SplatOp);

}  // namespace
}  // namespace sn_tf
