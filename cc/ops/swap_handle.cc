// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/swap_handle.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/framework/variant_op_registry.h"

namespace sn_tf {

void SwapHandle::Encode(tensorflow::VariantTensorData* data) const {
  data->set_type_name(kTypeName);
}

bool SwapHandle::Decode(const tensorflow::VariantTensorData& /*data*/) {
  return false;
}

std::string SwapHandle::DebugString() const {
  if (owner_ == nullptr) return absl::StrCat(kTypeName, "(empty)");
  const SwappedTensor& swapped = *owner_->swapped;
  return absl::StrCat(kTypeName, "(",
                      tensorflow::DataTypeString(swapped.dtype()),
                      swapped.shape().DebugString(), ")");
}

namespace {

// A handle is host memory wherever it goes, and what it refers to stays where
// it is.
absl::Status PassOn(
    const SwapHandle& from, SwapHandle* to,
    const tensorflow::UnaryVariantOpRegistry::AsyncTensorDeviceCopyFn&
    /*copy*/) {
  *to = from;
  return absl::OkStatus();
}

using CopyRegistration = tensorflow::variant_op_registry_fn_registration::
    UnaryVariantDeviceCopyRegistration<SwapHandle>;

CopyRegistration MakeCopyRegistration(
    tensorflow::VariantDeviceCopyDirection direction) {
  return CopyRegistration(direction, tensorflow::TypeIndex::Make<SwapHandle>(),
                          PassOn);
}

[[maybe_unused]] const CopyRegistration registrations[] = {
    MakeCopyRegistration(
        tensorflow::VariantDeviceCopyDirection::HOST_TO_DEVICE),
    MakeCopyRegistration(
        tensorflow::VariantDeviceCopyDirection::DEVICE_TO_HOST),
    MakeCopyRegistration(
        tensorflow::VariantDeviceCopyDirection::DEVICE_TO_DEVICE),
};

}  // namespace

}  // namespace sn_tf
