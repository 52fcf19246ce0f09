// SPDX-License-Identifier: Apache-2.0
//
// How a device's tensors leave its memory and come back: through the tiers of a
// pool, or by an accelerator's own streams to pinned memory.
#ifndef SN_TF_CC_OPS_TENSOR_MOVER_H_
#define SN_TF_CC_OPS_TENSOR_MOVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "cc/pool/device_copy_counters.h"
#include "cc/pool/stall_meter.h"
#include "cc/pool/tensor_cache.h"
#include "cc/pool/unified_pool.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace sn_tf {

// A tensor copied to pinned memory by an accelerator's stream. Counts its bytes
// as stored.
class PinnedTensor {
 public:
  // `counters` are those of the accelerator, which last for ever.
  PinnedTensor(tensorflow::Tensor tensor, DeviceCopyCounters* counters);
  PinnedTensor(PinnedTensor&& other) noexcept;
  PinnedTensor& operator=(PinnedTensor&& other) = delete;
  ~PinnedTensor();

  const tensorflow::Tensor& tensor() const { return tensor_; }
  tensorflow::Tensor& tensor() { return tensor_; }

 private:
  tensorflow::Tensor tensor_;
  DeviceCopyCounters* counters_;
  int64_t bytes_;
};

// A tensor's bytes outside of the device.
using TensorStorage = std::variant<PooledBuffer, PinnedTensor>;

// One buffer's journeys. Both functions return at once and call `done` exactly
// once, on any thread, possibly before they return; it must not block.
class TensorMover {
 public:
  using OutDone = std::function<void(const absl::Status& status,
                                     std::shared_ptr<TensorStorage> storage)>;
  using InDone = std::function<void(const absl::Status& status)>;

  virtual ~TensorMover() = default;

  // Whether tensors that `device` allocates are in reach.
  virtual bool Reaches(const tensorflow::DeviceBase& device) const = 0;

  // Copies `tensor`, which the caller keeps as it is until `done`. `needed_at`:
  // see Transfer.
  virtual void Out(const tensorflow::Tensor& tensor, int64_t needed_at,
                   OutDone done) = 0;
  // Copies `storage`, which came from Out, to `tensor`, of the same type and
  // shape. The caller keeps both until `done`.
  virtual void In(const TensorStorage& storage, int64_t needed_at,
                  tensorflow::Tensor* tensor, InDone done) = 0;

  // What is under way is needed at once, or not at all any more.
  virtual void Hurry() {}
  virtual void Cancel() {}

  // Of the device's memory; nullptr where nobody tells when that is short.
  virtual TensorCache* cache() = 0;
  // To be told of waiting for copies; nullptr where the device tells itself.
  virtual StallMeter* stalls() { return nullptr; }
};

// For devices whose memory the processor can read and write. `buffer` is the
// buffer's name.
std::unique_ptr<TensorMover> MakePoolMover(UnifiedPool* pool,
                                           std::string buffer);

// For accelerators: copies through the device's context to pinned memory, which
// the device's host allocator gives whatever the tiers are.
std::unique_ptr<TensorMover> MakeDeviceMover(
    tensorflow::OpKernelContext* context);

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_TENSOR_MOVER_H_
