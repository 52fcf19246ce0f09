// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/aliases.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "cc/ops/names.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;

// Slices at other addresses are copied.
constexpr int64_t kSliceAlignment = 64;

bool SharesAll(const NodeDef& node) {
  static const auto* const kOps = new absl::flat_hash_set<absl::string_view>{
      "Identity",    "Reshape",         "Squeeze",
      "ExpandDims",  "StopGradient",    "Bitcast",
      "Snapshot",    "PreventGradient", "PlaceholderWithDefault",
      "EnsureShape", "CheckNumerics",   "_EagerConst",
      kHoldOp};
  return kOps->contains(node.op());
}

// The input that the op takes slices of; -1: it is no such op.
int SlicedInput(const NodeDef& node) {
  static const auto* const kOps =
      new absl::flat_hash_map<absl::string_view, int>{{"Unpack", 0},
                                                      {"Split", 1},
                                                      {"SplitV", 0},
                                                      {"Slice", 0},
                                                      {"StridedSlice", 0}};
  const auto found = kOps->find(node.op());
  return found == kOps->end() ? -1 : found->second;
}

// Whether `slice` is a part of `whole` along its first dimension, with or
// without that dimension. Of a step other than one the shapes tell nothing; it
// is rare, and to take it for a slice holds memory that could be free.
bool IsFirstDimensionSlice(const TensorInfo& whole, const TensorInfo& slice) {
  if (!whole.known() || !slice.known() || whole.dims.empty()) return false;
  const size_t inner = whole.dims.size() - 1;
  return slice.dims.size() >= inner && slice.dims.size() <= inner + 1 &&
         std::equal(whole.dims.begin() + 1, whole.dims.end(),
                    slice.dims.end() - static_cast<int64_t>(inner));
}

bool IsAligned(const TensorInfo& whole) {
  const int64_t first = std::max<int64_t>(whole.dims[0], 1);
  return whole.bytes() >= 0 && whole.bytes() / first % kSliceAlignment == 0;
}

}  // namespace

int AliasedInput(const NodeDef& node, int port,
                 const std::vector<TensorInfo>& inputs,
                 const std::vector<TensorInfo>& outputs) {
  if (SharesAll(node)) return 0;
  if (node.op() == "IdentityN") return port;
  const int input = SlicedInput(node);
  if (input < 0 || input >= static_cast<int>(inputs.size()) ||
      port >= static_cast<int>(outputs.size())) {
    return -1;
  }
  return IsFirstDimensionSlice(inputs[input], outputs[port]) &&
                 IsAligned(inputs[input])
             ? input
             : -1;
}

}  // namespace sn_tf
