// SPDX-License-Identifier: Apache-2.0
//
// The simulated accelerator as a device of TensorFlow, and how it copies.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/allocator/arena_allocator.h"
#include "cc/device/sim_machine.h"
#include "cc/ops/names.h"
#include "cc/pool/stream_copy.h"
#include "tensorflow/core/common_runtime/copy_tensor.h"
#include "tensorflow/core/common_runtime/device_factory.h"
#include "tensorflow/core/common_runtime/local_device.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session_options.h"

namespace sn_tf {
namespace {

using tensorflow::AllocatorAttributes;
using tensorflow::Device;
using tensorflow::DeviceContext;
using tensorflow::StatusCallback;
using tensorflow::Tensor;

// Below those of CPUs (70) and GPUs (210): ops come here only when asked to.
constexpr int kPriority = 50;

// Pushes a copy of `source` to `destination`, of the same size, which lasts
// until `done`. Of `source` a reference is kept until then: TensorFlow does
// not.
void PushCopy(PacedQueue* queue, const Tensor& source, Tensor* destination,
              const Tensor& host_side, StatusCallback done) {
  if (!tensorflow::DataTypeCanUseMemcpy(source.dtype())) {
    done(absl::UnimplementedError(absl::StrCat(
        "Tensors of type ", tensorflow::DataTypeString(source.dtype()),
        " cannot be copied to or from a simulated device: their elements are "
        "references to other memory.")));
    return;
  }
  const auto bytes = static_cast<int64_t>(source.TotalBytes());
  if (bytes != static_cast<int64_t>(destination->TotalBytes())) {
    done(absl::InternalError(
        absl::StrCat("A copy of ", bytes, " bytes was asked for into ",
                     destination->TotalBytes(), " bytes.")));
    return;
  }
  if (bytes == 0) {
    done(absl::OkStatus());
    return;
  }
  if (!destination->IsInitialized()) {
    done(absl::ResourceExhaustedError(absl::StrCat(
        "OOM when allocating tensor of shape ", source.shape().DebugString(),
        " and type ", tensorflow::DataTypeString(source.dtype()),
        " for a copy to or from a simulated device")));
    return;
  }
  const HostMemory memory = SimPinnedMemory()->Contains(host_side.data())
                                ? HostMemory::kPinned
                                : HostMemory::kPageable;
  queue->Copy(destination->data(), source.data(), bytes, memory,
              [reference = Tensor(source), done = std::move(done)]() mutable {
                reference = Tensor();  // What `done` starts may need the room.
                done(absl::OkStatus());
              });
}

// All of a device's copies. Its kernels have computed when they return, so that
// a copy need not wait for what was launched before it.
class SimDeviceContext : public DeviceContext {
 public:
  explicit SimDeviceContext(SimUnit* unit) : unit_(unit) {}

  void CopyCPUTensorToDevice(const Tensor* cpu_tensor, Device* /*device*/,
                             Tensor* device_tensor, StatusCallback done,
                             bool /*sync_dst_compute*/) const override {
    PushCopy(&unit_->link.to_device, *cpu_tensor, device_tensor, *cpu_tensor,
             std::move(done));
  }

  void CopyDeviceTensorToCPU(const Tensor* device_tensor,
                             absl::string_view /*tensor_name*/,
                             Device* /*device*/, Tensor* cpu_tensor,
                             StatusCallback done) override {
    PushCopy(&unit_->link.to_host, *device_tensor, cpu_tensor, *cpu_tensor,
             std::move(done));
  }

  void CopyTensorInSameDevice(const Tensor* input_tensor, Device* /*device*/,
                              Tensor* output_tensor,
                              StatusCallback done) const override {
    StreamCopy(output_tensor->data(), input_tensor->data(),
               static_cast<int64_t>(input_tensor->TotalBytes()));
    done(absl::OkStatus());
  }

  // What was launched has computed: there is nothing to wait for.
  absl::Status ThenExecute(Device* /*device*/,
                           stream_executor::Stream* /*none*/,
                           std::function<void()> what) override {
    what();
    return absl::OkStatus();
  }

  tsl::Allocator* host_memory_allocator() const override {
    return SimPinnedMemory();
  }

 private:
  SimUnit* const unit_;
};

class SimDevice : public tensorflow::LocalDevice {
 public:
  SimDevice(const tensorflow::SessionOptions& options,
            const tensorflow::DeviceAttributes& attributes, SimUnit* unit)
      : LocalDevice(options, attributes),
        unit_(unit),
        context_(new SimDeviceContext(unit)) {
    info_.default_context = context_.get();
    set_tensorflow_accelerator_device_info(&info_);
  }

  tsl::Allocator* GetAllocator(AllocatorAttributes attributes) override {
    if (!attributes.on_host()) return &unit_->memory;
    if (attributes.gpu_compatible()) return SimPinnedMemory();
    return tensorflow::cpu_allocator();
  }

  absl::Status MakeTensorFromProto(const tensorflow::TensorProto& proto,
                                   const AllocatorAttributes attributes,
                                   Tensor* tensor) override {
    Tensor parsed(proto.dtype());
    if (!parsed.FromProto(tensorflow::cpu_allocator(), proto)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Cannot parse a tensor of type ",
          tensorflow::DataTypeString(proto.dtype()), " for ", name(), "."));
    }
    if (attributes.on_host() ||
        !tensorflow::DataTypeCanUseMemcpy(parsed.dtype())) {
      *tensor = std::move(parsed);
      return absl::OkStatus();
    }
    Tensor copy(GetAllocator(attributes), parsed.dtype(), parsed.shape());
    if (!copy.IsInitialized() && copy.NumElements() > 0) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "OOM when allocating tensor of shape ", parsed.shape().DebugString(),
          " and type ", tensorflow::DataTypeString(parsed.dtype())));
    }
    TF_RETURN_IF_ERROR(
        context_->CopyCPUTensorToDeviceSync(&parsed, this, &copy));
    *tensor = std::move(copy);
    return absl::OkStatus();
  }

  void Compute(tensorflow::OpKernel* kernel,
               tensorflow::OpKernelContext* context) override {
    if (kernel->AsAsync() != nullptr) {
      // Called eagerly, these wait here, for copies or for other ops.
      LocalDevice::Compute(kernel, context);
      return;
    }
    const StallClock::Computing computing(&unit_->link.stalls);
    LocalDevice::Compute(kernel, context);
  }

  void CopyTensorInSameDevice(const Tensor* input_tensor, Tensor* output_tensor,
                              const DeviceContext* device_context,
                              StatusCallback done) override {
    device_context->CopyTensorInSameDevice(input_tensor, this, output_tensor,
                                           std::move(done));
  }

  absl::Status TryGetDeviceContext(DeviceContext** out_context) override {
    context_->Ref();
    *out_context = context_.get();
    return absl::OkStatus();
  }

  // For tf.distribute and prefetch_to_device.
  bool IsRemoteCallAllowed() const override { return true; }

  // Kernels have computed when they return.
  absl::Status Sync() override { return absl::OkStatus(); }

  SimUnit* unit() const { return unit_; }

 private:
  SimUnit* const unit_;
  const tsl::core::RefCountPtr<SimDeviceContext> context_;
  AcceleratorDeviceInfo info_;
};

// From one simulated device to another: over the sender's link.
void CopyBetweenDevices(DeviceContext* /*send_context*/,
                        DeviceContext* /*receive_context*/, Device* source,
                        Device* /*destination*/,
                        const AllocatorAttributes /*source_attributes*/,
                        const AllocatorAttributes /*destination_attributes*/,
                        const Tensor* input, Tensor* output,
                        int /*stream_index*/, StatusCallback done) {
  auto* const device = static_cast<SimDevice*>(source->UnderlyingDevice());
  PushCopy(&device->unit()->link.to_host, *input, output, *output,
           std::move(done));
}

[[maybe_unused]] const tensorflow::CopyTensor::Registration copy_registration{
    tensorflow::DeviceType(kSimDeviceType),
    tensorflow::DeviceType(kSimDeviceType), CopyBetweenDevices};

class SimDeviceFactory : public tensorflow::DeviceFactory {
 public:
  // None: these are logical devices of the machine's own memory. Keras also
  // compiles with XLA where it finds physical devices other than CPUs.
  absl::Status ListPhysicalDevices(
      std::vector<std::string>* /*devices*/) override {
    return absl::OkStatus();
  }

  absl::Status CreateDevices(
      const tensorflow::SessionOptions& options, const std::string& prefix,
      std::vector<std::unique_ptr<Device>>* devices) override {
    MarkTensorFlowStarted();
    int count = SimUnitCount();
    const auto& wanted = options.config.device_count();
    const auto found = wanted.find(kSimDeviceType);
    if (found != wanted.end()) count = std::min(count, found->second);
    for (int i = 0; i < count; ++i) {
      SimUnit* const unit = FindSimUnit(i);
      devices->push_back(std::make_unique<SimDevice>(
          options,
          Device::BuildDeviceAttributes(
              absl::StrCat(prefix, "/device:", kSimDeviceType, ":", i),
              tensorflow::DeviceType(kSimDeviceType),
              tensorflow::Bytes(unit->memory.range_bytes()),
              tensorflow::DeviceLocality(),
              absl::StrCat("simulated accelerator, link ",
                           unit->link.model.name)),
          unit));
    }
    return absl::OkStatus();
  }
};

REGISTER_LOCAL_DEVICE_FACTORY("SIM", SimDeviceFactory, kPriority);

}  // namespace
}  // namespace sn_tf
