// SPDX-License-Identifier: Apache-2.0
//
// Kernels of SnSwapOut and SnSwapIn. Both return at once, and finish on the
// thread that made the copy, so that no thread of TensorFlow waits for it.
//
// Until an asynchronous kernel calls `done` TensorFlow keeps its inputs, and
// lets go of them before it starts the op's successors. The kernels take no
// references of their own: the memory of a swapped-out tensor is free when its
// successor runs, and the storage of a handle when its last SnSwapIn ends.
// A cancelled step waits for its copies, which are short, so there is nothing
// to take back.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/ops/names.h"
#include "cc/ops/swap_handle.h"
#include "cc/ops/tensor_copier.h"
#include "cc/pool/pool.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/framework/variant.h"

namespace sn_tf {
namespace {

using tensorflow::AsyncOpKernel;
using tensorflow::DataType;
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

template <typename Copier>
class SwapOutOp : public AsyncOpKernel {
 public:
  explicit SwapOutOp(OpKernelConstruction* context) : AsyncOpKernel(context) {
    DataType dtype;
    OP_REQUIRES_OK(context, GetSwappableType(context, &dtype));
    std::string tier;
    OP_REQUIRES_OK(context, context->GetAttr(kTierAttr, &tier));
    tier_ = FindTier(tier);
    OP_REQUIRES(
        context, tier_ != nullptr,
        absl::InvalidArgumentError(absl::StrCat(
            "Invalid value for attribute `", kTierAttr, "` of ", kSwapOutOp,
            ". Received: \"", tier, "\". Expected: \"host\".")));
  }

  bool IsExpensive() override { return false; }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    Tensor* handle = nullptr;
    OP_REQUIRES_OK_ASYNC(context, context->allocate_output(0, {}, &handle),
                         done);
    Copier::Store(context, tier_, context->input(0),
                  [context, handle, done = std::move(done)](
                      const absl::Status& status,
                      std::shared_ptr<const StoredTensor> stored) {
                    if (status.ok()) {
                      handle->scalar<Variant>()() =
                          SwapHandle(std::move(stored));
                    } else {
                      context->SetStatus(status);
                    }
                    done();
                  });
  }

 private:
  Tier* tier_ = nullptr;
};

template <typename Copier>
class SwapInOp : public AsyncOpKernel {
 public:
  explicit SwapInOp(OpKernelConstruction* context) : AsyncOpKernel(context) {
    OP_REQUIRES_OK(context, GetSwappableType(context, &dtype_));
  }

  bool IsExpensive() override { return false; }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    const StoredTensor* stored = nullptr;
    OP_REQUIRES_OK_ASYNC(context, FindStored(context->input(0), &stored), done);
    Tensor* tensor = nullptr;
    OP_REQUIRES_OK_ASYNC(
        context, context->allocate_output(0, stored->shape, &tensor), done);
    Copier::Load(context, *stored, tensor,
                 [context, done = std::move(done)](const absl::Status& status) {
                   if (!status.ok()) context->SetStatus(status);
                   done();
                 });
  }

 private:
  absl::Status FindStored(const Tensor& handle,
                          const StoredTensor** stored) const {
    const SwapHandle* const value =
        handle.dims() == 0 ? handle.scalar<Variant>()().get<SwapHandle>()
                           : nullptr;
    if (value == nullptr || value->stored() == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(kSwapInOp, " received ", handle.DebugString(),
                       " for `handle`. Expected what ", kSwapOutOp,
                       " returned, in the same process."));
    }
    if (value->stored()->dtype != dtype_) {
      return absl::InvalidArgumentError(absl::StrCat(
          kSwapInOp, " was to return ", tensorflow::DataTypeString(dtype_),
          ", but the handle's tensor is ",
          tensorflow::DataTypeString(value->stored()->dtype),
          ". Set the attribute `", kTypeAttr, "` to the type that went out."));
    }
    *stored = value->stored();
    return absl::OkStatus();
  }

  DataType dtype_ = tensorflow::DT_INVALID;
};

REGISTER_KERNEL_BUILDER(Name(kSwapOutOp).Device(tensorflow::DEVICE_CPU),
                        SwapOutOp<TierCopier>);
REGISTER_KERNEL_BUILDER(Name(kSwapInOp).Device(tensorflow::DEVICE_CPU),
                        SwapInOp<TierCopier>);

#define SN_TF_REGISTER_ON_ACCELERATOR(type)                                   \
  REGISTER_KERNEL_BUILDER(Name(kSwapOutOp).Device(type).HostMemory("handle"), \
                          SwapOutOp<DeviceCopier>);                           \
  REGISTER_KERNEL_BUILDER(Name(kSwapInOp).Device(type).HostMemory("handle"),  \
                          SwapInOp<DeviceCopier>)

SN_TF_REGISTER_ON_ACCELERATOR(tensorflow::DEVICE_GPU);
SN_TF_REGISTER_ON_ACCELERATOR(kSimDeviceType);

}  // namespace
}  // namespace sn_tf
