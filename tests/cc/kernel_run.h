// SPDX-License-Identifier: Apache-2.0
//
// Runs one kernel of the library, as if its device were there.
#ifndef SN_TF_TESTS_CC_KERNEL_RUN_H_
#define SN_TF_TESTS_CC_KERNEL_RUN_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/public/version.h"
#include "tsl/platform/refcount.h"

namespace sn_tf {

// Counts what is in use.
class CountingAllocator : public tensorflow::AllocatorWrapper {
 public:
  CountingAllocator()
      : tensorflow::AllocatorWrapper(tensorflow::cpu_allocator()) {}

  void* AllocateRaw(size_t alignment, size_t num_bytes) override {
    return AllocateRaw(alignment, num_bytes, {});
  }
  void* AllocateRaw(
      size_t alignment, size_t num_bytes,
      const tensorflow::AllocationAttributes& attributes) override {
    if (full) return nullptr;
    ++blocks_in_use;
    return tensorflow::AllocatorWrapper::AllocateRaw(alignment, num_bytes,
                                                     attributes);
  }
  void DeallocateRaw(void* ptr) override {
    --blocks_in_use;
    tensorflow::AllocatorWrapper::DeallocateRaw(ptr);
  }

  std::atomic<int> blocks_in_use{0};
  std::atomic<bool> full{false};  // It has no memory to give.
};

// Copies on threads of its own, as streams do, or fails.
class FakeDeviceContext : public tensorflow::DeviceContext {
 public:
  using StatusCallback = tensorflow::StatusCallback;

  // Waits until its threads hold nothing any more.
  void Finish() {
    std::vector<std::thread> threads;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      threads.swap(threads_);
    }
    for (std::thread& thread : threads) thread.join();
  }

  void CopyCPUTensorToDevice(const tensorflow::Tensor* cpu_tensor,
                             tensorflow::Device* /*device*/,
                             tensorflow::Tensor* device_tensor,
                             StatusCallback done,
                             bool /*sync_dst_compute*/) const override {
    Copy(*cpu_tensor, device_tensor, std::move(done));
  }

  void CopyDeviceTensorToCPU(const tensorflow::Tensor* device_tensor,
                             absl::string_view /*tensor_name*/,
                             tensorflow::Device* /*device*/,
                             tensorflow::Tensor* cpu_tensor,
                             StatusCallback done) override {
    Copy(*device_tensor, cpu_tensor, std::move(done));
  }

  absl::Status result;  // Of every copy.
  mutable std::atomic<int> copies{0};

 private:
  void Copy(const tensorflow::Tensor& from, tensorflow::Tensor* to,
            StatusCallback done) const {
    std::lock_guard<std::mutex> lock(mutex_);
    threads_.emplace_back([this, &from, to, done = std::move(done)] {
      if (result.ok() && from.TotalBytes() > 0) {
        std::memcpy(to->data(), from.data(), from.TotalBytes());
      }
      ++copies;
      done(result);
    });
  }

  mutable std::mutex mutex_;
  mutable std::vector<std::thread> threads_;
};

// A device of the given type whose two kinds of memory are counted apart.
class FakeDevice : public tensorflow::Device {
 public:
  explicit FakeDevice(const std::string& type)
      : tensorflow::Device(tensorflow::Env::Default(), Attributes(type)) {}
  // Threads of transfers may hold tensors a moment longer than the test does.
  ~FakeDevice() override {
    context->Finish();
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    while (device_memory.blocks_in_use + pinned_memory.blocks_in_use > 0 &&
           absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  absl::Status Sync() override { return absl::OkStatus(); }

  tensorflow::Allocator* GetAllocator(
      tensorflow::AllocatorAttributes attributes) override {
    if (!attributes.on_host()) return &device_memory;
    return attributes.gpu_compatible() ? &pinned_memory : &host_memory;
  }

  const tsl::core::RefCountPtr<FakeDeviceContext> context{
      new FakeDeviceContext()};
  CountingAllocator device_memory;
  CountingAllocator pinned_memory;
  CountingAllocator host_memory;

 private:
  static tensorflow::DeviceAttributes Attributes(const std::string& type) {
    return BuildDeviceAttributes(
        "/job:localhost/replica:0/task:0/device:" + type + ":0", type.c_str(),
        tensorflow::Bytes(1 << 30), {});
  }
};

// One run of a kernel. The outputs, if it returned any, live until the end of
// this object, and with them the device's memory.
class KernelRun {
 public:
  // Of a step that `cancellation` can cancel, if there is one.
  KernelRun(FakeDevice* device, const tensorflow::NodeDef& node,
            std::vector<tensorflow::Tensor> inputs,
            tensorflow::CancellationManager* cancellation = nullptr)
      : inputs_(std::move(inputs)) {
    kernel_ = tensorflow::CreateOpKernel(
        tensorflow::DeviceType(device->device_type()), device,
        device->GetAllocator({}), node, TF_GRAPH_DEF_VERSION, &status_);
    if (!status_.ok()) return;
    for (tensorflow::Tensor& input : inputs_) values_.emplace_back(&input);
    output_attributes_.resize(kernel_->num_outputs());
    for (int i = 0; i < kernel_->num_outputs(); ++i) {
      output_attributes_[i].set_on_host(kernel_->output_memory_types()[i] ==
                                        tensorflow::HOST_MEMORY);
    }
    params_.step_id = kStepId;
    params_.device = device;
    params_.cancellation_manager = cancellation;
    params_.op_kernel = kernel_.get();
    params_.op_device_context = device->context.get();
    params_.inputs = values_;
    params_.output_attr_array = output_attributes_.data();
    context_ = std::make_unique<tensorflow::OpKernelContext>(&params_);
    Compute(device);
  }

  static constexpr int64_t kStepId = 42;

  const absl::Status& status() const { return status_; }

  // A reference of the caller's own to the first output.
  tensorflow::Tensor output() { return *context_->mutable_output(0); }

  bool output_is_the_only_reference() {
    return context_->mutable_output(0)->RefCountIsOne();
  }

  tensorflow::OpKernelContext* context() { return context_.get(); }

 private:
  void Compute(FakeDevice* device) {
    if (tensorflow::AsyncOpKernel* const async = kernel_->AsAsync()) {
      absl::Notification done;
      device->ComputeAsync(async, context_.get(), [&done] { done.Notify(); });
      done.WaitForNotification();
    } else {
      device->Compute(kernel_.get(), context_.get());
    }
    status_ = context_->status();
  }

  absl::Status status_;
  std::unique_ptr<tensorflow::OpKernel> kernel_;
  std::vector<tensorflow::Tensor> inputs_;
  std::vector<tensorflow::TensorValue> values_;
  std::vector<tensorflow::AllocatorAttributes> output_attributes_;
  tensorflow::OpKernelContext::Params params_;
  std::unique_ptr<tensorflow::OpKernelContext> context_;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_KERNEL_RUN_H_
