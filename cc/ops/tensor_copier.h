// SPDX-License-Identifier: Apache-2.0
//
// The two ways in which the swap kernels copy a tensor: through a tier's link,
// or by an accelerator's own streams. Both have the same static functions:
//
//   Store  copies `tensor` to a tier.
//   Load   copies `stored` to `tensor`, of the same type and shape.
//
// They return at once and call `done` exactly once, on any thread, possibly
// before they return. The caller keeps `tensor` and `stored` until then; by
// then nothing here refers to them any more.
#ifndef SN_TF_CC_OPS_TENSOR_COPIER_H_
#define SN_TF_CC_OPS_TENSOR_COPIER_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "cc/ops/swap_handle.h"
#include "cc/pool/tier.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace sn_tf {

using StoreDone = std::function<void(const absl::Status& status,
                                     std::shared_ptr<const StoredTensor>)>;
using LoadDone = std::function<void(const absl::Status& status)>;

// For devices whose memory the processor can read and write.
struct TierCopier {
  static void Store(tensorflow::OpKernelContext* context, Tier* tier,
                    const tensorflow::Tensor& tensor, StoreDone done);
  static void Load(tensorflow::OpKernelContext* context,
                   const StoredTensor& stored, tensorflow::Tensor* tensor,
                   LoadDone done);
};

// For accelerators: copies through the device's context to pinned memory, which
// the device's host allocator gives whatever the tier is.
struct DeviceCopier {
  static void Store(tensorflow::OpKernelContext* context, Tier* tier,
                    const tensorflow::Tensor& tensor, StoreDone done);
  static void Load(tensorflow::OpKernelContext* context,
                   const StoredTensor& stored, tensorflow::Tensor* tensor,
                   LoadDone done);
};

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_TENSOR_COPIER_H_
