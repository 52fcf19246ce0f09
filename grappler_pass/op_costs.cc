// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/op_costs.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace sn_tf {
namespace {

using Infos = std::vector<TensorInfo>;

// Rates of a present-day CPU with two cores. Only their ratio decides what a
// plan does; the copies' rate stands in CostModel.
constexpr double kFlopsPerSecond = 120e9;
constexpr double kMemoryBytesPerSecond = 10e9;
constexpr double kOverheadSeconds = 5e-6;

double Elements(const TensorInfo& info) {
  double elements = 1;
  for (const int64_t dim : info.dims) {
    elements *= static_cast<double>(std::max<int64_t>(dim, 0));
  }
  return elements;
}

// Twice the multiplications of a convolution whose output (in the forward
// sense) and filter are given: each output element sums filter elements, all
// but the last filter dimension.
double ConvolutionFlops(const TensorInfo& output, const TensorInfo& filter) {
  if (filter.dims.empty() || filter.dims.back() <= 0) return 0;
  return 2 * Elements(output) * Elements(filter) /
         static_cast<double>(filter.dims.back());
}

double MatMulFlops(const tensorflow::NodeDef& node, const Infos& inputs,
                   const Infos& outputs) {
  const TensorInfo& a = inputs[0];
  if (a.dims.size() < 2) return 0;
  const char* const attr =
      node.attr().contains("adj_x") ? "adj_x" : "transpose_a";
  const auto found = node.attr().find(attr);
  const bool transposed = found != node.attr().end() && found->second.b();
  const int64_t inner = a.dims[a.dims.size() - (transposed ? 2 : 1)];
  return 2 * Elements(outputs[0]) *
         static_cast<double>(std::max<int64_t>(inner, 0));
}

double Flops(const tensorflow::NodeDef& node, const Infos& inputs,
             const Infos& outputs) {
  const std::string& op = node.op();
  if (inputs.size() < 2 || outputs.empty()) return 0;
  if (absl::StrContains(op, "MatMul")) {
    return MatMulFlops(node, inputs, outputs);
  }
  if (!absl::StrContains(op, "Conv")) return 0;
  if (absl::EndsWith(op, "BackpropFilter") && inputs.size() > 2) {
    return ConvolutionFlops(inputs[2], outputs[0]);
  }
  if (absl::EndsWith(op, "BackpropInput") && inputs.size() > 2) {
    return ConvolutionFlops(inputs[2], inputs[1]);
  }
  return ConvolutionFlops(outputs[0], inputs[1]);
}

double Bytes(const Infos& infos) {
  double bytes = 0;
  for (const TensorInfo& info : infos) {
    bytes += static_cast<double>(std::max<int64_t>(info.bytes(), 0));
  }
  return bytes;
}

}  // namespace

double EstimateSeconds(const tensorflow::NodeDef& node, const Infos& inputs,
                       const Infos& outputs) {
  return kOverheadSeconds +
         std::max(Flops(node, inputs, outputs) / kFlopsPerSecond,
                  (Bytes(inputs) + Bytes(outputs)) / kMemoryBytesPerSecond);
}

}  // namespace sn_tf
