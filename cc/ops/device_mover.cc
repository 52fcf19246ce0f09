// SPDX-License-Identifier: Apache-2.0
//
// How tensors of accelerators move: the device copies them to pinned memory
// and back. What pinned memory is not to hold goes on to a pool from there.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/ops/latest_transit.h"
#include "cc/ops/tensor_mover.h"
#include "cc/pool/pool.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/lib/core/refcount.h"

namespace sn_tf {

using tensorflow::OpKernelContext;
using tensorflow::Tensor;

PinnedTensor::PinnedTensor(Tensor tensor, DeviceCopyCounters* counters)
    : tensor_(std::move(tensor)),
      counters_(counters),
      bytes_(static_cast<int64_t>(tensor_.TotalBytes())) {
  counters_->stored_bytes += bytes_;
}

PinnedTensor::PinnedTensor(PinnedTensor&& other) noexcept
    : tensor_(std::move(other.tensor_)),
      counters_(other.counters_),
      bytes_(std::exchange(other.bytes_, 0)) {}

PinnedTensor::~PinnedTensor() { counters_->stored_bytes -= bytes_; }

namespace {

class DeviceMover : public TensorMover {
 public:
  DeviceMover(OpKernelContext* context, PinnedMemory pinned, std::string buffer)
      : device_(static_cast<tensorflow::Device*>(context->device())),
        context_(tsl::core::GetNewRef(context->op_device_context())),
        pinned_(pinned),
        buffer_(std::move(buffer)) {
    const auto& name = device_->parsed_name();
    const std::string device = absl::StrCat(name.type, ":", name.id);
    counters_ = &DeviceCopies(device);
    cache_ = FindCache(device);
  }

  bool Reaches(const tensorflow::DeviceBase& device) const override {
    return device.name() == device_->name();
  }

  void Out(const Tensor& tensor, int64_t needed_at, OutDone done) override {
    // Written by the device; nobody else refers to it before `done`.
    auto copy = MakePinned(tensor.dtype(), tensor.shape());
    if (copy == nullptr) {
      done(NoPinnedMemory(tensor), nullptr);
      return;
    }
    Tensor* const destination = &std::get<PinnedTensor>(*copy).tensor();
    context_->CopyDeviceTensorToCPU(
        &tensor, "SnSwapOut", device_, destination,
        [counters = counters_, pinned = pinned_, buffer = buffer_, needed_at,
         transit = transit_.New(), copy = std::move(copy),
         done = std::move(done)](const absl::Status& status) mutable {
          if (!status.ok()) {
            // Pinned memory is free again when `done` is told.
            copy.reset();
            done(status, nullptr);
            return;
          }
          counters->out_bytes += BytesOf(*copy);
          if (pinned.beyond == nullptr ||
              counters->stored_bytes <= pinned.limit_bytes) {
            done(status, std::move(copy));
          } else {
            GoOn(pinned.beyond, std::move(buffer), needed_at,
                 std::move(transit), std::move(copy), std::move(done));
          }
        });
  }

  void In(const TensorStorage& storage, int64_t needed_at, Tensor* tensor,
          InDone done) override {
    if (const auto* const pinned = std::get_if<PinnedTensor>(&storage)) {
      ToDevice(pinned->tensor(), tensor, std::move(done));
      return;
    }
    const auto* const stored = std::get_if<PooledBuffer>(&storage);
    std::shared_ptr<TensorStorage> copy =
        MakePinned(tensor->dtype(), tensor->shape());
    if (copy == nullptr) {
      done(NoPinnedMemory(*tensor));
      return;
    }
    void* const destination = std::get<PinnedTensor>(*copy).tensor().data();
    pinned_.beyond->Load(
        *stored, destination, needed_at, transit_.New(),
        // The tensor's owner keeps this mover until `done`.
        [this, copy = std::move(copy), tensor,
         done = std::move(done)](const TierError& error) mutable {
          if (!error.ok()) {
            copy.reset();
            done(ToStatus(error));
            return;
          }
          const Tensor& source = std::get<PinnedTensor>(*copy).tensor();
          ToDevice(source, tensor,
                   [copy = std::move(copy), done = std::move(done)](
                       const absl::Status& status) mutable {
                     copy.reset();
                     done(status);
                   });
        });
  }

  void Hurry() override { transit_.Hurry(); }
  void Cancel() override { transit_.Cancel(); }

  TensorCache* cache() override { return cache_; }

 private:
  static int64_t BytesOf(const TensorStorage& pinned) {
    return static_cast<int64_t>(
        std::get<PinnedTensor>(pinned).tensor().TotalBytes());
  }

  static absl::Status NoPinnedMemory(const Tensor& tensor) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "No pinned host memory for a buffer of ", tensor.TotalBytes(),
        " bytes. Raise the budget, so that less is swapped out, or use a "
        "smaller batch."));
  }

  // What pinned memory is not to hold moves on. Until it has, the device's
  // memory stays taken: so a slow tier holds the device back, and does not fill
  // pinned memory. Where no tier takes it, it stays.
  static void GoOn(UnifiedPool* pool, std::string buffer, int64_t needed_at,
                   std::shared_ptr<UnifiedPool::Transit> transit,
                   std::shared_ptr<TensorStorage> copy, OutDone done) {
    const void* const source = std::get<PinnedTensor>(*copy).tensor().data();
    const int64_t bytes = BytesOf(*copy);
    pool->Store(std::move(buffer), source, bytes, needed_at, std::move(transit),
                [copy = std::move(copy), done = std::move(done)](
                    PooledBuffer stored, const TierError& error) mutable {
                  if (error.ok()) {
                    copy = std::make_shared<TensorStorage>(std::move(stored));
                  }
                  done(absl::OkStatus(), std::move(copy));
                });
  }

  // nullptr where there is no memory.
  std::shared_ptr<TensorStorage> MakePinned(
      tensorflow::DataType dtype, const tensorflow::TensorShape& shape) const {
    tensorflow::AllocatorAttributes attributes;
    attributes.set_on_host(true);
    attributes.set_gpu_compatible(true);
    Tensor copy(device_->GetAllocator(attributes), dtype, shape);
    if (!copy.IsInitialized()) return nullptr;
    return std::make_shared<TensorStorage>(
        PinnedTensor(std::move(copy), counters_));
  }

  void ToDevice(const Tensor& source, Tensor* tensor, InDone done) const {
    context_->CopyCPUTensorToDevice(
        &source, device_, tensor,
        [counters = counters_,
         bytes = static_cast<int64_t>(tensor->TotalBytes()),
         done = std::move(done)](const absl::Status& status) {
          if (status.ok()) counters->in_bytes += bytes;
          done(status);
        });
  }

  tensorflow::Device* const device_;
  const tsl::core::RefCountPtr<tensorflow::DeviceContext> context_;
  const PinnedMemory pinned_;
  const std::string buffer_;
  DeviceCopyCounters* counters_;
  TensorCache* cache_;
  LatestTransit transit_;  // Between pinned memory and the pool.
};

}  // namespace

std::unique_ptr<TensorMover> MakeDeviceMover(OpKernelContext* context,
                                             PinnedMemory pinned,
                                             std::string buffer) {
  return std::make_unique<DeviceMover>(context, pinned, std::move(buffer));
}

}  // namespace sn_tf
