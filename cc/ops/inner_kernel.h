// SPDX-License-Identifier: Apache-2.0
//
// A kernel that another one computes with.
#ifndef SN_TF_CC_OPS_INNER_KERNEL_H_
#define SN_TF_CC_OPS_INNER_KERNEL_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/node_properties.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {

// The kernel that the CPU has for `node`, for use on the device for which
// `context` makes one.
inline absl::StatusOr<std::unique_ptr<tensorflow::OpKernel>> MakeCpuKernel(
    const tensorflow::NodeDef& node,
    tensorflow::OpKernelConstruction* context) {
  std::shared_ptr<const tensorflow::NodeProperties> properties;
  absl::Status status = tensorflow::NodeProperties::CreateFromNodeDef(
      node, tensorflow::OpRegistry::Global(), &properties);
  if (!status.ok()) return status;
  tensorflow::OpKernel* kernel = nullptr;
  status = tensorflow::CreateOpKernel(
      tensorflow::DeviceType(tensorflow::DEVICE_CPU), context->device(),
      context->device()->GetAllocator(tensorflow::AllocatorAttributes()),
      context->function_library(), context->resource_manager(), properties,
      context->graph_def_version(), &kernel);
  if (!status.ok()) return status;
  return std::unique_ptr<tensorflow::OpKernel>(kernel);
}

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_INNER_KERNEL_H_
