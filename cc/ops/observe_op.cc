// SPDX-License-Identifier: Apache-2.0
//
// SnObserve: tells a graph's observer that a step begins or ends.
#include <string>
#include <vector>

#include "cc/ops/names.h"
#include "cc/ops/observer.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace sn_tf {
namespace {

using tensorflow::OpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;

// Stateful: nothing may prune it, or merge it with another.
REGISTER_OP(kObserveOp)
    .Input("inputs: T")
    .Attr("T: list(type) >= 0")
    .Attr("observer: int")
    .Attr("of_device: string = 'CPU:0'")
    .Attr("phase: {'begin', 'writes', 'end'} = 'begin'")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::NoOutputs);

class ObserveOp : public OpKernel {
 public:
  explicit ObserveOp(OpKernelConstruction* context) : OpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr(kObserverAttr, &number_));
    OP_REQUIRES_OK(context, context->GetAttr(kPhaseAttr, &phase_));
  }

  void Compute(OpKernelContext* context) override {
    const std::shared_ptr<StepObserver> observer = FindObserver(number_);
    if (observer == nullptr) return;
    if (phase_ == kPhaseEnd) {
      OP_REQUIRES_OK(context, observer->OnStepEnd(context->step_id()));
    } else if (phase_ == kPhaseWrites) {
      OP_REQUIRES_OK(context, observer->OnBeforeWrites(context->step_id()));
    } else {
      Begin(context, observer.get());
    }
  }

 private:
  static void Begin(OpKernelContext* context, StepObserver* observer) {
    std::vector<tensorflow::TensorShape> shapes;
    shapes.reserve(context->num_inputs());
    for (int i = 0; i < context->num_inputs(); ++i) {
      shapes.push_back(context->input(i).shape());
    }
    OP_REQUIRES_OK(context, observer->OnStepBegin(context->step_id(), shapes));
  }

  int64_t number_ = 0;
  std::string phase_;
};

REGISTER_KERNEL_BUILDER(Name(kObserveOp).Device(tensorflow::DEVICE_CPU),
                        ObserveOp);
// Only shapes are looked at: inputs stay in the device's memory.
REGISTER_KERNEL_BUILDER(Name(kObserveOp).Device(tensorflow::DEVICE_GPU),
                        ObserveOp);
REGISTER_KERNEL_BUILDER(Name(kObserveOp).Device(kSimDeviceType), ObserveOp);

}  // namespace
}  // namespace sn_tf
