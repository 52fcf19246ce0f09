// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/tensor_copier.h"

#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "cc/pool/pool.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/device_base.h"

namespace sn_tf {
namespace {

using tensorflow::OpKernelContext;
using tensorflow::Tensor;

absl::Status ToStatus(const std::string& error) {
  return error.empty() ? absl::OkStatus() : absl::ResourceExhaustedError(error);
}

// The device kept by the context of a kernel is always a full one.
tensorflow::Device* DeviceOf(OpKernelContext* context) {
  return static_cast<tensorflow::Device*>(context->device());
}

DeviceCopyCounters* CountersOf(OpKernelContext* context) {
  const auto& name = context->device()->parsed_name();
  return &DeviceCopies(absl::StrCat(name.type, ":", name.id));
}

absl::Status StoredElsewhere(OpKernelContext* context) {
  return absl::InvalidArgumentError(
      "SnSwapIn on device " + DeviceOf(context)->name() +
      " received a handle whose tensor was swapped out on a device of another "
      "kind. Place SnSwapOut and SnSwapIn on the same device.");
}

}  // namespace

void TierCopier::Store(OpKernelContext* /*context*/, Tier* tier,
                       const Tensor& tensor, StoreDone done) {
  auto stored = std::make_shared<StoredTensor>();
  stored->dtype = tensor.dtype();
  stored->shape = tensor.shape();
  tier->Store(tensor.data(), static_cast<int64_t>(tensor.TotalBytes()),
              [stored = std::move(stored), done = std::move(done)](
                  StoredBuffer buffer, const std::string& error) mutable {
                stored->storage = std::move(buffer);
                done(ToStatus(error), std::move(stored));
              });
}

void TierCopier::Load(OpKernelContext* context, const StoredTensor& stored,
                      Tensor* tensor, LoadDone done) {
  const auto* const buffer = std::get_if<StoredBuffer>(&stored.storage);
  if (buffer == nullptr || buffer->tier() == nullptr) {
    done(StoredElsewhere(context));
    return;
  }
  buffer->tier()->Load(*buffer, tensor->data(),
                       [done = std::move(done)](const std::string& error) {
                         done(ToStatus(error));
                       });
}

void DeviceCopier::Store(OpKernelContext* context, Tier* /*tier*/,
                         const Tensor& tensor, StoreDone done) {
  tensorflow::AllocatorAttributes pinned;
  pinned.set_on_host(true);
  pinned.set_gpu_compatible(true);
  Tensor copy;
  const absl::Status allocated =
      context->allocate_temp(tensor.dtype(), tensor.shape(), &copy, pinned);
  if (!allocated.ok()) {
    done(allocated, nullptr);
    return;
  }
  auto stored = std::make_shared<StoredTensor>();
  stored->dtype = tensor.dtype();
  stored->shape = tensor.shape();
  // Written by the device; nobody else refers to it before `done`.
  DeviceCopyCounters* const counters = CountersOf(context);
  Tensor* const destination =
      &stored->storage.emplace<PinnedTensor>(std::move(copy), counters)
           .tensor();
  context->op_device_context()->CopyDeviceTensorToCPU(
      &tensor, "SnSwapOut", DeviceOf(context), destination,
      [counters, bytes = static_cast<int64_t>(tensor.TotalBytes()),
       stored = std::move(stored),
       done = std::move(done)](const absl::Status& status) mutable {
        if (status.ok()) counters->out_bytes += bytes;
        done(status, std::move(stored));
      });
}

void DeviceCopier::Load(OpKernelContext* context, const StoredTensor& stored,
                        Tensor* tensor, LoadDone done) {
  const auto* const source = std::get_if<PinnedTensor>(&stored.storage);
  if (source == nullptr) {
    done(StoredElsewhere(context));
    return;
  }
  const auto bytes = static_cast<int64_t>(tensor->TotalBytes());
  context->op_device_context()->CopyCPUTensorToDevice(
      &source->tensor(), DeviceOf(context), tensor,
      [counters = CountersOf(context), bytes,
       done = std::move(done)](const absl::Status& status) {
        if (status.ok()) counters->in_bytes += bytes;
        done(status);
      });
}

}  // namespace sn_tf
