// SPDX-License-Identifier: Apache-2.0
//
// SnKeep: an op whose kernel outlives the instance of the function it is in.
// TensorFlow's random ops keep their generators in their kernels; each new
// generation of plans would begin the sequence of a seed anew.
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cc/ops/inner_kernel.h"
#include "cc/ops/names.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace sn_tf {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;

REGISTER_OP(kKeepOp)
    .Input("inputs: Tin")
    .Output("outputs: Tout")
    .Attr("Tin: list(type) >= 0")
    .Attr("Tout: list(type)")
    .Attr("node: string")
    .Attr("key: string")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::UnknownShape);

// By key; never emptied: functions have unique names, and such kernels are
// small.
struct KeptKernels {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<OpKernel>> by_key;
};

KeptKernels& Kept() {
  static auto* const kept = new KeptKernels();
  return *kept;
}

absl::Status MakeKernel(OpKernelConstruction* context,
                        std::shared_ptr<OpKernel>* kernel) {
  std::string text;
  TF_RETURN_IF_ERROR(context->GetAttr(kNodeAttr, &text));
  tensorflow::NodeDef node;
  if (!node.ParseFromString(text)) {
    return absl::InvalidArgumentError("SnKeep: its attribute `node` is none.");
  }
  auto made = MakeCpuKernel(node, context);
  if (!made.ok()) return made.status();
  *kernel = *std::move(made);
  return absl::OkStatus();
}

class KeepOp : public OpKernel {
 public:
  explicit KeepOp(OpKernelConstruction* context) : OpKernel(context) {
    std::string key;
    OP_REQUIRES_OK(context, context->GetAttr(kKeyAttr, &key));
    const std::lock_guard<std::mutex> lock(Kept().mutex);
    std::shared_ptr<OpKernel>& kept = Kept().by_key[key];
    if (kept == nullptr) OP_REQUIRES_OK(context, MakeKernel(context, &kept));
    kernel_ = kept;
  }

  void Compute(OpKernelContext* context) override { kernel_->Compute(context); }

 private:
  std::shared_ptr<OpKernel> kernel_;
};

REGISTER_KERNEL_BUILDER(Name(kKeepOp).Device(tensorflow::DEVICE_CPU), KeepOp);
REGISTER_KERNEL_BUILDER(
    Name(kKeepOp).Device(kSimDeviceType).HostMemory("inputs"), KeepOp);

}  // namespace
}  // namespace sn_tf
