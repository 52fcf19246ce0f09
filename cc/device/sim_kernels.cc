// SPDX-License-Identifier: Apache-2.0
#include "cc/device/sim_kernels.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cc/allocator/arena_allocator.h"
#include "cc/ops/inner_kernel.h"
#include "cc/ops/names.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {
namespace {

using tensorflow::AsyncOpKernel;
using tensorflow::KernelDef;
using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;

constexpr char kOneDnnPrefix[] = "_Mkl";

// The executor places inputs and outputs as this kernel's definition says, and
// only asks it to compute; the CPU's kernel never sees a difference, because
// the processor reaches the memory of the simulated device.
template <typename Base>
class SimKernel : public Base {
 public:
  SimKernel(OpKernelConstruction* context, std::unique_ptr<OpKernel> cpu)
      : Base(context, cpu->is_deferred()), cpu_(std::move(cpu)) {}

  bool IsExpensive() override { return cpu_->IsExpensive(); }
  const tensorflow::Tensor* const_tensor() const override {
    return cpu_->const_tensor();
  }
  std::string TraceString(const OpKernelContext& context,
                          bool verbose) const override {
    return cpu_->TraceString(context, verbose);
  }

 protected:
  OpKernel& cpu() const { return *cpu_; }

 private:
  const std::unique_ptr<OpKernel> cpu_;
};

class SimSyncKernel : public SimKernel<OpKernel> {
 public:
  using SimKernel::SimKernel;
  void Compute(OpKernelContext* context) override { cpu().Compute(context); }
};

// oneDNN's kernels go on without memory that they were refused.
class SimOneDnnKernel : public SimKernel<OpKernel> {
 public:
  using SimKernel::SimKernel;
  void Compute(OpKernelContext* context) override {
    auto* const memory = static_cast<ArenaAllocator*>(
        context->device()->GetAllocator(tensorflow::AllocatorAttributes()));
    const RefusalSink::OfThread sink(memory->sink());
    cpu().Compute(context);
    if (!sink.first().has_value()) return;
    context->SetStatus(absl::ResourceExhaustedError(absl::StrCat(
        "OOM when allocating ", sink.first()->bytes, " bytes for ", name(),
        " on ", context->device()->name(), " by allocator ", memory->Name())));
  }
};

class SimAsyncKernel : public SimKernel<AsyncOpKernel> {
 public:
  using SimKernel::SimKernel;
  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    cpu().AsAsync()->ComputeAsync(context, std::move(done));
  }
};

OpKernel* CreateSimKernel(OpKernelConstruction* context) {
  auto cpu = MakeCpuKernel(context->def(), context);
  if (!cpu.ok()) {
    context->CtxFailure(cpu.status());
    return nullptr;
  }
  if ((*cpu)->AsAsync() != nullptr) {
    return new SimAsyncKernel(context, *std::move(cpu));
  }
  if (absl::StartsWith(context->def().op(), kOneDnnPrefix)) {
    return new SimOneDnnKernel(context, *std::move(cpu));
  }
  return new SimSyncKernel(context, *std::move(cpu));
}

using HostArguments = std::map<std::string, std::set<std::string>>;  // By op.

void Register(KernelDef kernel) {
  kernel.set_device_type(kSimDeviceType);
  // The registry takes it.
  tensorflow::kernel_factory::OpKernelRegistrar(
      new KernelDef(std::move(kernel)), "SimKernel", CreateSimKernel);
}

// Whether it is made of others by the passes for CPUs (sim_fusions.cc).
bool IsFused(const std::string& op) {
  return absl::StartsWith(op, kOneDnnPrefix) ||
         absl::StartsWith(op, "_Fused") || op == "_UnaryOpsComposition";
}

// The op in whose place one of oneDNN's is put.
std::string ReplacedBy(absl::string_view op) {
  absl::ConsumePrefix(&op, kOneDnnPrefix);
  absl::ConsumePrefix(&op, "Native");
  absl::ConsumeSuffix(&op, "WithBias");
  return std::string(op);
}

// A CPU's kernel, with in host memory what the replaced op has there.
void RegisterFused(const KernelDef& kernel, const HostArguments& on_host) {
  KernelDef own = kernel;
  const tensorflow::OpDef* def = nullptr;
  const auto host = on_host.find(ReplacedBy(kernel.op()));
  if (host != on_host.end() &&
      tensorflow::OpRegistry::Global()->LookUpOpDef(kernel.op(), &def).ok()) {
    for (const auto& argument : def->input_arg()) {
      if (host->second.count(argument.name()) > 0) {
        own.add_host_memory_arg(argument.name());
      }
    }
  }
  Register(std::move(own));
}

}  // namespace

std::string RegisterSimKernels() {
  const tensorflow::KernelList kernels = tensorflow::GetAllRegisteredKernels();
  std::set<std::string> on_cpu;
  std::set<std::string> known;  // Those of our own ops.
  HostArguments on_host;
  for (const KernelDef& kernel : kernels.kernel()) {
    if (kernel.device_type() == tensorflow::DEVICE_CPU) {
      on_cpu.insert(kernel.op());
    } else if (kernel.device_type() == tensorflow::DEVICE_GPU) {
      on_host[kernel.op()].insert(kernel.host_memory_arg().begin(),
                                  kernel.host_memory_arg().end());
    }
    if (kernel.device_type() == kSimDeviceType) known.insert(kernel.op());
  }
  int registered = 0;
  for (const KernelDef& kernel : kernels.kernel()) {
    if (kernel.device_type() == tensorflow::DEVICE_CPU &&
        IsFused(kernel.op())) {
      RegisterFused(kernel, on_host);
    }
    if (kernel.device_type() != tensorflow::DEVICE_GPU) continue;
    if (IsFused(kernel.op()) || on_cpu.count(kernel.op()) == 0 ||
        known.count(kernel.op()) > 0) {
      continue;
    }
    Register(kernel);
    ++registered;
  }
  if (registered > 0) return "";
  return "This build of TensorFlow has no kernels for GPUs, and it is they "
         "that tell which arguments of an op are in host memory. Install the "
         "package `tensorflow`, not `tensorflow-cpu`.";
}

}  // namespace sn_tf
