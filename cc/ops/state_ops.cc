// SPDX-License-Identifier: Apache-2.0
//
// SnStateOut, SnStateIn, SnStateBack: variables that leave the memory of their
// device and come back. Nothing about them fails: what cannot move stays.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/tier_spec.h"
#include "cc/ops/names.h"
#include "cc/ops/tensor_mover.h"
#include "cc/ops/variable_mover.h"
#include "cc/pool/pool.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {
namespace {

using tensorflow::AsyncOpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::shape_inference::NoOutputs;

// Stateful: nothing may prune them, or merge one with another.
REGISTER_OP(kStateOutOp)
    .Input("variable: resource")
    .Attr("tiers: string = 'host'")
    .Attr("swap_dir: string = ''")
    .Attr("buffer: string = ''")
    .Attr("bytes: int = 0")
    .Attr("phase: {'begin', 'use'} = 'use'")
    .SetIsStateful()
    .SetShapeFn(NoOutputs);

REGISTER_OP(kStateInOp)
    .Input("variable: resource")
    .Attr("bytes: int = 0")
    .Attr("slot: bool = false")
    .Attr("phase: {'begin', 'use'} = 'use'")
    .SetIsStateful()
    .SetShapeFn(NoOutputs);

REGISTER_OP(kStateBackOp).SetIsStateful().SetShapeFn(NoOutputs);

// The variable that the op is about; nullptr where there is none, which others
// will tell.
VariableRef FindVariable(OpKernelContext* context) {
  VariableRef variable;
  const absl::Status status = tensorflow::LookupResource(
      context, tensorflow::HandleFromInput(context, 0), &variable);
  return status.ok() ? std::move(variable) : nullptr;
}

class StateOutOp : public AsyncOpKernel {
 public:
  explicit StateOutOp(OpKernelConstruction* context) : AsyncOpKernel(context) {
    std::string tiers;
    std::string swap_dir;
    OP_REQUIRES_OK(context, context->GetAttr(kTiersAttr, &tiers));
    OP_REQUIRES_OK(context, context->GetAttr(kSwapDirAttr, &swap_dir));
    OP_REQUIRES_OK(context, context->GetAttr(kBufferAttr, &buffer_));
    if (context->device_type() != tensorflow::DeviceType("CPU")) return;
    std::string error;
    pool_ = FindPool(tiers, swap_dir, &error);
    OP_REQUIRES(context, pool_ != nullptr, absl::InvalidArgumentError(error));
  }

  bool IsExpensive() override { return false; }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    VariableRef variable = FindVariable(context);
    if (variable == nullptr) {
      done();
      return;
    }
    // What an accelerator's ops can reach is pinned memory.
    std::shared_ptr<TensorMover> mover =
        pool_ != nullptr ? MakePoolMover(pool_, buffer_)
                         : MakeDeviceMover(context, PinnedMemory(), buffer_);
    MoveVariableOut(context, std::move(variable), std::move(mover),
                    std::move(done));
  }

 private:
  std::string buffer_;
  UnifiedPool* pool_ = nullptr;  // Of CPUs.
};

class StateInOp : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  bool IsExpensive() override { return false; }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    VariableRef variable = FindVariable(context);
    if (variable == nullptr) {
      done();
    } else {
      MoveVariableIn(context, std::move(variable), /*may_wait=*/true,
                     std::move(done));
    }
  }
};

class StateBackOp : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    Next(context,
         std::make_shared<std::vector<VariableRef>>(
             VariablesOutOf(ManagedNameOf(*context))),
         std::move(done));
  }

 private:
  // One after the other, so that each finds the room that the one before left.
  static void Next(OpKernelContext* context,
                   std::shared_ptr<std::vector<VariableRef>> left,
                   DoneCallback done) {
    if (left->empty()) {
      left.reset();
      done();
      return;
    }
    VariableRef variable = std::move(left->back());
    left->pop_back();
    // On the thread of a transfer, which must not wait for memory.
    MoveVariableIn(
        context, std::move(variable), /*may_wait=*/false,
        [context, left = std::move(left), done = std::move(done)]() mutable {
          Next(context, std::move(left), std::move(done));
        });
  }
};

#define SN_TF_REGISTER(type)                                              \
  REGISTER_KERNEL_BUILDER(                                                \
      Name(kStateOutOp).Device(type).HostMemory("variable"), StateOutOp); \
  REGISTER_KERNEL_BUILDER(                                                \
      Name(kStateInOp).Device(type).HostMemory("variable"), StateInOp);   \
  REGISTER_KERNEL_BUILDER(Name(kStateBackOp).Device(type), StateBackOp)

SN_TF_REGISTER(tensorflow::DEVICE_CPU);
SN_TF_REGISTER(tensorflow::DEVICE_GPU);
SN_TF_REGISTER(kSimDeviceType);

}  // namespace
}  // namespace sn_tf
