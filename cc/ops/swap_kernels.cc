// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the ops that swap. None of them keeps a thread of TensorFlow
// waiting: the two that wait for a copy finish on the thread that made it.
// Cancelling a step takes back the copies that it waits for.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/ops/names.h"
#include "cc/ops/swap_handle.h"
#include "cc/ops/swapped_tensor.h"
#include "cc/ops/tensor_mover.h"
#include "cc/pool/pool.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/framework/variant.h"

namespace sn_tf {
namespace {

using tensorflow::AsyncOpKernel;
using tensorflow::CancellationToken;
using tensorflow::DataType;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::Variant;

absl::Status GetSwappableType(OpKernelConstruction* context, DataType* dtype) {
  TF_RETURN_IF_ERROR(context->GetAttr(kTypeAttr, dtype));
  if (tensorflow::DataTypeCanUseMemcpy(*dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      context->def().op(), " cannot move tensors of type ",
      tensorflow::DataTypeString(*dtype),
      ": their elements are references to other memory. Only types whose "
      "elements are plain bytes can be swapped; leave this tensor in place."));
}

absl::Status FindSwapped(const std::string& op, const Tensor& handle,
                         std::shared_ptr<SwappedTensor>* swapped) {
  const SwapHandle* const value =
      handle.dims() == 0 ? handle.scalar<Variant>()().get<SwapHandle>()
                         : nullptr;
  if (value != nullptr) *swapped = value->swapped();
  if (*swapped != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      op, " received ", handle.DebugString(), " for `handle`. Expected what ",
      kSwapOutOp, " returned, in the same process."));
}

// Where the op has to be whose tensor the handle gives back.
absl::Status CheckDevice(OpKernelContext* context,
                         const SwappedTensor& swapped) {
  if (swapped.Reaches(*context->device())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      context->op_kernel().type_string(), " on ", context->device()->name(),
      " received a handle whose tensor was swapped out on another device. "
      "Place it on the same device as its ",
      kSwapOutOp, "."));
}

// How the kernels of one kind of device move tensors.
struct OnCpu {
  explicit OnCpu(OpKernelConstruction* context) {
    std::string tiers;
    std::string swap_dir;
    OP_REQUIRES_OK(context, context->GetAttr(kTiersAttr, &tiers));
    OP_REQUIRES_OK(context, context->GetAttr(kSwapDirAttr, &swap_dir));
    OP_REQUIRES_OK(context, context->GetAttr(kBufferAttr, &buffer));
    std::string error;
    pool = FindPool(tiers, swap_dir, &error);
    OP_REQUIRES(context, pool != nullptr, absl::InvalidArgumentError(error));
  }

  std::unique_ptr<TensorMover> MakeMover(OpKernelContext* /*context*/) const {
    return MakePoolMover(pool, buffer);
  }

  UnifiedPool* pool = nullptr;
  std::string buffer;
};

struct OnAccelerator {
  explicit OnAccelerator(OpKernelConstruction* /*context*/) {}

  static std::unique_ptr<TensorMover> MakeMover(OpKernelContext* context) {
    return MakeDeviceMover(context);
  }
};

template <typename Device>
class SwapOutOp : public OpKernel {
 public:
  explicit SwapOutOp(OpKernelConstruction* context)
      : OpKernel(context), device_(context) {
    DataType dtype;
    OP_REQUIRES_OK(context, GetSwappableType(context, &dtype));
    OP_REQUIRES_OK(context, context->GetAttr(kWhenAttr, &when_));
    OP_REQUIRES_OK(context, context->GetAttr(kNeededAtAttr, &needed_at_));
  }

  bool IsExpensive() override { return false; }

  void Compute(OpKernelContext* context) override {
    Tensor* handle = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, {}, &handle));
    const auto swapped = SwappedTensor::Make(
        context->input(0), device_.MakeMover(context), needed_at_);
    handle->scalar<Variant>()() = SwapHandle(swapped);
    if (when_ == kWhenNow) {
      swapped->MoveOut();
    } else {
      swapped->MayLeave();
    }
  }

 private:
  const Device device_;
  std::string when_;
  int64_t needed_at_ = 0;
};

// Takes back what an op waits for when its step is cancelled.
class CancelsWithStep {
 public:
  CancelsWithStep(OpKernelContext* context,
                  const std::shared_ptr<SwappedTensor>& swapped)
      : manager_(context->cancellation_manager()) {
    if (manager_ == nullptr) return;
    token_ = manager_->get_cancellation_token();
    registered_ =
        manager_->RegisterCallback(token_, [swapped] { swapped->Abandon(); });
    if (!registered_) swapped->Abandon();
  }

  // On the thread of a transfer: it must not wait for the callback.
  void End() const {
    if (registered_) manager_->TryDeregisterCallback(token_);
  }

 private:
  tensorflow::CancellationManager* const manager_;
  CancellationToken token_ = 0;
  bool registered_ = false;
};

class SwapWaitOp : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  bool IsExpensive() override { return false; }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    std::shared_ptr<SwappedTensor> swapped;
    OP_REQUIRES_OK_ASYNC(
        context, FindSwapped(kSwapWaitOp, context->input(0), &swapped), done);
    const CancelsWithStep cancels(context, swapped);
    swapped->WaitUntilOut([cancels, done = std::move(done)] {
      cancels.End();
      done();
    });
  }
};

class PrefetchOp : public OpKernel {
 public:
  explicit PrefetchOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr(kNeededAtAttr, &needed_at_));
  }

  bool IsExpensive() override { return false; }

  void Compute(OpKernelContext* context) override {
    std::shared_ptr<SwappedTensor> swapped;
    OP_REQUIRES_OK(context,
                   FindSwapped(kPrefetchOp, context->input(0), &swapped));
    OP_REQUIRES_OK(context, CheckDevice(context, *swapped));
    swapped->Prefetch(context, needed_at_);
  }

 private:
  int64_t needed_at_ = 0;
};

class SwapInOp : public AsyncOpKernel {
 public:
  explicit SwapInOp(OpKernelConstruction* context) : AsyncOpKernel(context) {
    OP_REQUIRES_OK(context, GetSwappableType(context, &dtype_));
    OP_REQUIRES_OK(context, context->GetAttr(kNeededAtAttr, &needed_at_));
  }

  bool IsExpensive() override { return false; }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    std::shared_ptr<SwappedTensor> swapped;
    OP_REQUIRES_OK_ASYNC(context, Find(context->input(0), &swapped), done);
    OP_REQUIRES_OK_ASYNC(context, CheckDevice(context, *swapped), done);
    const CancelsWithStep cancels(context, swapped);
    swapped->Fetch(context, needed_at_,
                   [context, cancels, done = std::move(done)](
                       const absl::Status& status, Tensor tensor) {
                     cancels.End();
                     if (status.ok()) {
                       // Nobody but the step refers to it from here on.
                       context->set_output(0, std::move(tensor));
                     } else {
                       context->SetStatus(status);
                     }
                     done();
                   });
  }

 private:
  absl::Status Find(const Tensor& handle,
                    std::shared_ptr<SwappedTensor>* swapped) const {
    TF_RETURN_IF_ERROR(FindSwapped(kSwapInOp, handle, swapped));
    if ((*swapped)->dtype() == dtype_) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        kSwapInOp, " was to return ", tensorflow::DataTypeString(dtype_),
        ", but the handle's tensor is ",
        tensorflow::DataTypeString((*swapped)->dtype()),
        ". Set the attribute `", kTypeAttr, "` to the type that went out."));
  }

  DataType dtype_ = tensorflow::DT_INVALID;
  int64_t needed_at_ = 0;
};

#define SN_TF_REGISTER(type, how)                                              \
  REGISTER_KERNEL_BUILDER(Name(kSwapOutOp).Device(type).HostMemory("handle"),  \
                          SwapOutOp<how>);                                     \
  REGISTER_KERNEL_BUILDER(Name(kSwapWaitOp).Device(type).HostMemory("handle"), \
                          SwapWaitOp);                                         \
  REGISTER_KERNEL_BUILDER(Name(kPrefetchOp).Device(type).HostMemory("handle"), \
                          PrefetchOp);                                         \
  REGISTER_KERNEL_BUILDER(Name(kSwapInOp).Device(type).HostMemory("handle"),   \
                          SwapInOp)

SN_TF_REGISTER(tensorflow::DEVICE_CPU, OnCpu);
SN_TF_REGISTER(tensorflow::DEVICE_GPU, OnAccelerator);
SN_TF_REGISTER(kSimDeviceType, OnAccelerator);

}  // namespace
}  // namespace sn_tf
