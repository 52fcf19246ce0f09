// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/op_traits.h"

#include <iterator>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "cc/ops/names.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"

namespace sn_tf {
namespace {

using tensorflow::NodeDef;
using Names = absl::flat_hash_set<absl::string_view>;

// clang-format would put each on a line of its own.
// clang-format off
constexpr absl::string_view kReusesInput[] = {
    "Abs", "Acos", "Acosh", "Add", "AddN", "AddV2", "Asin", "Asinh", "Atan",
    "Atan2", "Atanh", "BiasAdd", "Ceil", "Cos", "Cosh", "Div", "DivNoNan",
    "Elu", "EluGrad", "Erf", "Erfc", "Exp", "Expm1", "Floor", "FloorDiv",
    "FloorMod", "InvGrad", "LeakyRelu", "LeakyReluGrad", "Log", "Log1p",
    "LogSoftmax", "Maximum", "Minimum", "Mul", "MulNoNan", "Neg", "Pow", "RealDiv",
    "Reciprocal", "ReciprocalGrad", "Relu", "Relu6", "Relu6Grad", "ReluGrad",
    "Rint", "Round", "Rsqrt", "RsqrtGrad", "Selu", "SeluGrad", "Sigmoid",
    "SigmoidGrad", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "SoftplusGrad",
    "Softsign", "SoftsignGrad", "Sqrt", "SqrtGrad", "Square",
    "SquaredDifference", "Sub", "Tan", "Tanh", "TanhGrad", "Xdivy", "Xlogy",
};
// clang-format on

bool Contains(const Names& names, const NodeDef& node) {
  return names.contains(node.op());
}

bool HasSpecialType(const tensorflow::DataTypeVector& types) {
  for (const tensorflow::DataType type : types) {
    if (tensorflow::IsRefType(type) || type == tensorflow::DT_RESOURCE ||
        type == tensorflow::DT_VARIANT) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool IsResidentSource(const NodeDef& node) {
  static const auto* const kSources = new Names{
      "_Arg",       "_DeviceArg", "Const",       "_HostConst",    "VarHandleOp",
      "VariableV2", "Variable",   "Placeholder", "ImmutableConst"};
  return Contains(*kSources, node) || IsStepInput(node);
}

bool IsStepInput(const NodeDef& node) {
  static const auto* const kInputs = new Names{
      "IteratorGetNext", "IteratorGetNextSync", "OptionalGetValue",  "_Arg",
      "Placeholder",     "QueueDequeueV2",      "QueueDequeueManyV2"};
  return Contains(*kInputs, node);
}

bool IsVariableRead(const NodeDef& node) {
  return node.op() == "ReadVariableOp";
}

bool IsStateWrite(const NodeDef& node) {
  return absl::StartsWith(node.op(), "Assign") ||
         absl::StartsWith(node.op(), "ResourceApply") ||
         absl::StartsWith(node.op(), "ResourceSparseApply") ||
         absl::StartsWith(node.op(), "ResourceScatter") ||
         absl::StartsWith(node.op(), "ResourceStridedSliceAssign");
}

bool CallsFunction(const NodeDef& node) {
  for (const auto& [name, value] : node.attr()) {
    if (value.has_func() || value.list().func_size() > 0) return true;
  }
  return false;
}

bool IsResult(const NodeDef& node) {
  return node.op() == "_Retval" || node.op() == "_DeviceRetval";
}

bool IsControlFlow(const NodeDef& node) {
  static const auto* const kPrimitives =
      new Names{"Switch",  "_SwitchN",       "Merge",    "Enter",
                "Exit",    "RefSwitch",      "RefMerge", "RefEnter",
                "RefExit", "NextIteration",  "LoopCond", "RefNextIteration",
                "While",   "StatelessWhile", "If",       "StatelessIf",
                "Case",    "StatelessCase"};
  return Contains(*kPrimitives, node);
}

bool IsLowered(const NodeDef& node) {
  static const auto* const kPrimitives =
      new Names{"Switch", "_SwitchN",      "Merge",   "Enter",
                "Exit",   "NextIteration", "LoopCond"};
  return Contains(*kPrimitives, node);
}

bool ReusesInput(const std::string& type) {
  static const auto* const kTypes =
      new Names(std::begin(kReusesInput), std::end(kReusesInput));
  return kTypes->contains(type);
}

bool IsPure(const NodeDef& node) {
  const tensorflow::OpDef* def = nullptr;
  if (!tensorflow::OpRegistry::Global()->LookUpOpDef(node.op(), &def).ok()) {
    return false;
  }
  const bool stateful = def->is_stateful() && node.op() != kSplatOp;
  if (stateful || IsResidentSource(node) || IsControlFlow(node) ||
      CallsFunction(node)) {
    return false;
  }
  tensorflow::DataTypeVector inputs;
  tensorflow::DataTypeVector outputs;
  return tensorflow::InOutTypesForNode(node, *def, &inputs, &outputs).ok() &&
         !HasSpecialType(inputs) && !HasSpecialType(outputs);
}

}  // namespace sn_tf
