// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/swap_handle.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/variant.h"

namespace sn_tf {

PinnedTensor::PinnedTensor(tensorflow::Tensor tensor,
                           DeviceCopyCounters* counters)
    : tensor_(std::move(tensor)),
      counters_(counters),
      bytes_(static_cast<int64_t>(tensor_.TotalBytes())) {
  counters_->stored_bytes += bytes_;
}

PinnedTensor::PinnedTensor(PinnedTensor&& other) noexcept
    : tensor_(std::move(other.tensor_)),
      counters_(other.counters_),
      bytes_(std::exchange(other.bytes_, 0)) {}

PinnedTensor::~PinnedTensor() { counters_->stored_bytes -= bytes_; }

void SwapHandle::Encode(tensorflow::VariantTensorData* data) const {
  data->set_type_name(kTypeName);
}

bool SwapHandle::Decode(const tensorflow::VariantTensorData& /*data*/) {
  return false;
}

std::string SwapHandle::DebugString() const {
  if (stored_ == nullptr) return absl::StrCat(kTypeName, "(empty)");
  return absl::StrCat(kTypeName, "(",
                      tensorflow::DataTypeString(stored_->dtype),
                      stored_->shape.DebugString(), ")");
}

}  // namespace sn_tf
