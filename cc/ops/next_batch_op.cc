// SPDX-License-Identifier: Apache-2.0
//
// SnNextBatch: IteratorGetNext, whose batch can come once more: a step that
// fails before it has changed anything need not lose it.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cc/ops/inner_kernel.h"
#include "cc/ops/names.h"
#include "cc/ops/observer.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace sn_tf {
namespace {

using tensorflow::AsyncOpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

REGISTER_OP(kNextBatchOp)
    .Input("iterator: resource")
    .Output("components: output_types")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .Attr("observer: int")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::DatasetIteratorShape);

class NextBatchOp : public AsyncOpKernel {
 public:
  explicit NextBatchOp(OpKernelConstruction* context) : AsyncOpKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr(kObserverAttr, &number_));
    tensorflow::NodeDef node = def();
    node.set_op(kIteratorGetNextOp);
    node.mutable_attr()->erase(kObserverAttr);
    auto made = MakeCpuKernel(node, context);
    OP_REQUIRES_OK(context, made.status());
    kernel_ = *std::move(made);
    OP_REQUIRES(context, kernel_->AsAsync() != nullptr,
                absl::InternalError("IteratorGetNext is no asynchronous op."));
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    std::shared_ptr<StepObserver> observer = FindObserver(number_);
    if (observer == nullptr) {
      kernel_->AsAsync()->ComputeAsync(context, std::move(done));
      return;
    }
    const std::optional<std::vector<Tensor>> again =
        observer->TakeBatch(name());
    if (again.has_value()) {
      for (size_t i = 0; i < again->size(); ++i) {
        context->set_output(static_cast<int>(i), (*again)[i]);
      }
      Keep(context, observer.get());
      done();
      return;
    }
    kernel_->AsAsync()->ComputeAsync(
        context, [this, context, observer = std::move(observer),
                  done = std::move(done)] {
          Keep(context, observer.get());
          done();
        });
  }

 private:
  void Keep(OpKernelContext* context, StepObserver* observer) {
    if (!context->status().ok()) return;
    std::vector<Tensor> batch;
    for (int i = 0; i < context->num_outputs(); ++i) {
      batch.push_back(*context->mutable_output(i));
    }
    observer->KeepBatch(name(), std::move(batch));
  }

  int64_t number_ = 0;
  std::unique_ptr<tensorflow::OpKernel> kernel_;
};

REGISTER_KERNEL_BUILDER(Name(kNextBatchOp).Device(tensorflow::DEVICE_CPU),
                        NextBatchOp);

}  // namespace
}  // namespace sn_tf
