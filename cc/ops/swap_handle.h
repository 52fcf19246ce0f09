// SPDX-License-Identifier: Apache-2.0
//
// What SnSwapOut returns in its variant: a counted reference to a tensor on a
// tier. The storage is free when the last handle is gone, whichever way the
// step ends.
#ifndef SN_TF_CC_OPS_SWAP_HANDLE_H_
#define SN_TF_CC_OPS_SWAP_HANDLE_H_

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "cc/pool/device_copy_counters.h"
#include "cc/pool/tier.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

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

struct StoredTensor {
  tensorflow::DataType dtype = tensorflow::DT_INVALID;
  tensorflow::TensorShape shape;
  std::variant<StoredBuffer, PinnedTensor> storage;
};

class SwapHandle {
 public:
  static constexpr char kTypeName[] = "sn_tf::SwapHandle";

  SwapHandle() = default;
  explicit SwapHandle(std::shared_ptr<const StoredTensor> stored)
      : stored_(std::move(stored)) {}

  // nullptr in a handle that came from nowhere.
  const StoredTensor* stored() const { return stored_.get(); }

  // What tensorflow::Variant asks of its values. A handle means nothing outside
  // its process, so it is written as nothing, and cannot be read back.
  std::string TypeName() const { return kTypeName; }
  void Encode(tensorflow::VariantTensorData* data) const;
  bool Decode(const tensorflow::VariantTensorData& data);
  std::string DebugString() const;

 private:
  std::shared_ptr<const StoredTensor> stored_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_SWAP_HANDLE_H_
