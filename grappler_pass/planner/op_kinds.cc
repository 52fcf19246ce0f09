// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/op_kinds.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace sn_tf {
namespace {

constexpr std::string_view kConvolutions[] = {"Conv2D", "Conv3D",
                                              "DepthwiseConv2dNative"};
constexpr std::string_view kMatrixProducts[] = {
    "MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"};
constexpr std::string_view kJoins[] = {"Add", "AddV2", "AddN", "Concat",
                                       "ConcatV2"};
// Begins the types of ops into which TensorFlow has merged what comes after
// them.
constexpr std::string_view kFused = "_Fused";

template <size_t kSize>
bool IsOneOf(const std::string_view (&types)[kSize], std::string_view type) {
  return std::find(std::begin(types), std::end(types), type) != std::end(types);
}

template <size_t kSize>
bool IsOrIsFused(const std::string_view (&types)[kSize],
                 std::string_view type) {
  if (type.substr(0, kFused.size()) == kFused)
    type.remove_prefix(kFused.size());
  return IsOneOf(types, type);
}

}  // namespace

bool IsConvolution(const Op& op) { return IsOrIsFused(kConvolutions, op.type); }

bool IsMatrixProduct(const Op& op) {
  return IsOrIsFused(kMatrixProducts, op.type);
}

bool IsStateOut(const Op& op) { return op.type == "SnStateOut"; }

bool IsJoin(const Op& op) { return IsOneOf(kJoins, op.type); }

}  // namespace sn_tf
