// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/input_growth.h"

#include <algorithm>
#include <cstdint>

namespace sn_tf {
namespace {

double ElementsOf(const std::vector<int64_t>& dims) {
  double elements = 1;
  for (const int64_t dim : dims) elements *= static_cast<double>(dim);
  return elements;
}

}  // namespace

std::optional<double> NoteDims(
    const std::vector<tensorflow::TensorShape>& shapes, StepInputDims* known) {
  bool grew = known->size() != shapes.size();
  double growth = 1;
  known->resize(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::vector<int64_t>& dims = (*known)[i];
    dims.resize(shapes[i].dims(), 0);
    const double before = ElementsOf(dims);
    for (int d = 0; d < shapes[i].dims(); ++d) {
      const int64_t size = shapes[i].dim_size(d);
      grew = grew || size > dims[d];
      dims[d] = std::max(dims[d], size);
    }
    if (before > 0) growth = std::max(growth, ElementsOf(dims) / before);
  }
  return grew ? std::optional<double>(growth) : std::nullopt;
}

}  // namespace sn_tf
