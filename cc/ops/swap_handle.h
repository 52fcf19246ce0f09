// SPDX-License-Identifier: Apache-2.0
//
// What SnSwapOut returns in its variant: a counted reference to a swapped
// tensor. Its storage is free when the last handle is gone, whichever way the
// step ends.
#ifndef SN_TF_CC_OPS_SWAP_HANDLE_H_
#define SN_TF_CC_OPS_SWAP_HANDLE_H_

#include <memory>
#include <string>
#include <utility>

#include "cc/ops/swapped_tensor.h"
#include "tensorflow/core/framework/variant_tensor_data.h"

namespace sn_tf {

class SwapHandle {
 public:
  static constexpr char kTypeName[] = "sn_tf::SwapHandle";

  SwapHandle() = default;
  explicit SwapHandle(std::shared_ptr<SwappedTensor> swapped)
      : owner_(std::make_shared<Owner>(std::move(swapped))) {}

  // nullptr in a handle that came from nowhere.
  std::shared_ptr<SwappedTensor> swapped() const {
    return owner_ == nullptr ? nullptr : owner_->swapped;
  }

  // What tensorflow::Variant asks of its values. A handle means nothing outside
  // its process, so it is written as nothing, and cannot be read back.
  std::string TypeName() const { return kTypeName; }
  void Encode(tensorflow::VariantTensorData* data) const;
  bool Decode(const tensorflow::VariantTensorData& data);
  std::string DebugString() const;

 private:
  // Shared by the copies of a handle. Transfers under way, kernels that end and
  // the tensor cache refer to the tensor too, but nobody needs it any more when
  // this ends.
  struct Owner {
    explicit Owner(std::shared_ptr<SwappedTensor> tensor)
        : swapped(std::move(tensor)) {}
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() { swapped->LetGo(); }

    const std::shared_ptr<SwappedTensor> swapped;
  };

  std::shared_ptr<const Owner> owner_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_SWAP_HANDLE_H_
