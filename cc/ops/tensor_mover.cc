// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/tensor_mover.h"

#include <mutex>

#include "absl/strings/str_cat.h"
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

absl::Status ToStatus(const TierError& error) {
  switch (error.kind) {
    case TierError::Kind::kNone:
      return absl::OkStatus();
    case TierError::Kind::kFull:
      return absl::ResourceExhaustedError(error.message);
    case TierError::Kind::kFailed:
    case TierError::Kind::kCorrupt:
      return absl::DataLossError(error.message);
    case TierError::Kind::kCancelled:
      return absl::CancelledError(error.message);
  }
  return absl::InternalError(error.message);
}

class PoolMover : public TensorMover {
 public:
  PoolMover(UnifiedPool* pool, std::string buffer)
      : pool_(pool), buffer_(std::move(buffer)) {}

  bool Reaches(const tensorflow::DeviceBase& device) const override {
    return device.attributes().device_type() == tensorflow::DEVICE_CPU;
  }

  void Out(const Tensor& tensor, int64_t needed_at, OutDone done) override {
    pool_->Store(
        buffer_, tensor.data(), static_cast<int64_t>(tensor.TotalBytes()),
        needed_at, NewTransit(),
        [done = std::move(done)](PooledBuffer stored, const TierError& error) {
          done(ToStatus(error),
               std::make_shared<TensorStorage>(std::move(stored)));
        });
  }

  void In(const TensorStorage& storage, int64_t needed_at, Tensor* tensor,
          InDone done) override {
    pool_->Load(std::get<PooledBuffer>(storage), tensor->data(), needed_at,
                NewTransit(), [done = std::move(done)](const TierError& error) {
                  done(ToStatus(error));
                });
  }

  void Hurry() override {
    const auto transit = Latest();
    if (transit != nullptr) transit->Hurry();
  }

  void Cancel() override {
    const auto transit = Latest();
    if (transit != nullptr) transit->Cancel();
  }

  TensorCache* cache() override { return &CpuTraffic().cache; }
  StallMeter* stalls() override { return &CpuTraffic().stalls; }

 private:
  // One at a time: a buffer comes back after it has left.
  std::shared_ptr<UnifiedPool::Transit> NewTransit() {
    std::lock_guard<std::mutex> lock(mutex_);
    transit_ = std::make_shared<UnifiedPool::Transit>();
    return transit_;
  }

  std::shared_ptr<UnifiedPool::Transit> Latest() {
    std::lock_guard<std::mutex> lock(mutex_);
    return transit_;
  }

  UnifiedPool* const pool_;
  const std::string buffer_;
  std::mutex mutex_;
  std::shared_ptr<UnifiedPool::Transit> transit_;
};

class DeviceMover : public TensorMover {
 public:
  explicit DeviceMover(OpKernelContext* context)
      : device_(static_cast<tensorflow::Device*>(context->device())),
        context_(tsl::core::GetNewRef(context->op_device_context())) {
    const auto& name = device_->parsed_name();
    const std::string device = absl::StrCat(name.type, ":", name.id);
    counters_ = &DeviceCopies(device);
    cache_ = FindCache(device);
  }

  bool Reaches(const tensorflow::DeviceBase& device) const override {
    return device.name() == device_->name();
  }

  void Out(const Tensor& tensor, int64_t /*needed_at*/, OutDone done) override {
    tensorflow::AllocatorAttributes pinned;
    pinned.set_on_host(true);
    pinned.set_gpu_compatible(true);
    Tensor copy(device_->GetAllocator(pinned), tensor.dtype(), tensor.shape());
    if (!copy.IsInitialized()) {
      done(absl::ResourceExhaustedError(absl::StrCat(
               "No pinned host memory for a buffer of ", tensor.TotalBytes(),
               " bytes. Raise the budget, so that less is swapped out, or use "
               "a smaller batch.")),
           nullptr);
      return;
    }
    // Written by the device; nobody else refers to it before `done`.
    auto storage = std::make_shared<TensorStorage>(
        PinnedTensor(std::move(copy), counters_));
    Tensor* const destination = &std::get<PinnedTensor>(*storage).tensor();
    context_->CopyDeviceTensorToCPU(
        &tensor, "SnSwapOut", device_, destination,
        [counters = counters_, storage = std::move(storage),
         done = std::move(done)](const absl::Status& status) mutable {
          if (status.ok()) {
            counters->out_bytes += static_cast<int64_t>(
                std::get<PinnedTensor>(*storage).tensor().TotalBytes());
          }
          done(status, std::move(storage));
        });
  }

  void In(const TensorStorage& storage, int64_t /*needed_at*/, Tensor* tensor,
          InDone done) override {
    context_->CopyCPUTensorToDevice(
        &std::get<PinnedTensor>(storage).tensor(), device_, tensor,
        [counters = counters_,
         bytes = static_cast<int64_t>(tensor->TotalBytes()),
         done = std::move(done)](const absl::Status& status) {
          if (status.ok()) counters->in_bytes += bytes;
          done(status);
        });
  }

  TensorCache* cache() override { return cache_; }

 private:
  tensorflow::Device* const device_;
  const tsl::core::RefCountPtr<tensorflow::DeviceContext> context_;
  DeviceCopyCounters* counters_;
  TensorCache* cache_;
};

}  // namespace

std::unique_ptr<TensorMover> MakePoolMover(UnifiedPool* pool,
                                           std::string buffer) {
  return std::make_unique<PoolMover>(pool, std::move(buffer));
}

std::unique_ptr<TensorMover> MakeDeviceMover(OpKernelContext* context) {
  return std::make_unique<DeviceMover>(context);
}

}  // namespace sn_tf
