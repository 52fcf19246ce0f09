// SPDX-License-Identifier: Apache-2.0
//
// Registrations of the ops that swap. They are pure: the tensor that comes back
// is the one that went out. Nor may they be marked stateful: a v1 Session
// keeps the kernel of a stateful op by the node's name, and would run it in
// place of the next plan's.
#include "cc/ops/names.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace sn_tf {
namespace {

using tensorflow::shape_inference::InferenceContext;
using tensorflow::shape_inference::ShapeAndType;
using tensorflow::shape_inference::ShapeHandle;

// The handle carries its tensor's shape and type through shape inference.
absl::Status SwapOutShape(InferenceContext* context) {
  tensorflow::DataType dtype;
  TF_RETURN_IF_ERROR(context->GetAttr(kTypeAttr, &dtype));
  context->set_output(0, context->Scalar());
  context->set_output_handle_shapes_and_types(
      0, {ShapeAndType(context->input(0), dtype)});
  return absl::OkStatus();
}

absl::Status SwapInShape(InferenceContext* context) {
  ShapeHandle scalar;
  TF_RETURN_IF_ERROR(context->WithRank(context->input(0), 0, &scalar));
  const auto* const stored = context->input_handle_shapes_and_types(0);
  context->set_output(0, stored != nullptr && stored->size() == 1
                             ? stored->front().shape
                             : context->UnknownShape());
  return absl::OkStatus();
}

absl::Status OfHandleShape(InferenceContext* context) {
  ShapeHandle scalar;
  return context->WithRank(context->input(0), 0, &scalar);
}

REGISTER_OP(kSwapOutOp)
    .Input("tensor: T")
    .Output("handle: variant")
    .Attr("T: type")
    .Attr("tiers: string = 'host'")
    .Attr("swap_dir: string = ''")
    .Attr("when: {'now', 'needed'} = 'now'")
    .Attr("buffer: string = ''")
    .Attr("needed_at: int = 0")
    .SetShapeFn(SwapOutShape);

REGISTER_OP(kSwapWaitOp).Input("handle: variant").SetShapeFn(OfHandleShape);

REGISTER_OP(kPrefetchOp)
    .Input("handle: variant")
    .Attr("needed_at: int = 0")
    .SetShapeFn(OfHandleShape);

REGISTER_OP(kSwapInOp)
    .Input("handle: variant")
    .Output("tensor: T")
    .Attr("T: type")
    .Attr("buffer: string = ''")
    .Attr("needed_at: int = 0")
    .SetShapeFn(SwapInShape);

}  // namespace
}  // namespace sn_tf
