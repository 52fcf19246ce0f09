// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_INPUT_GROWTH_H_
#define SN_TF_GRAPPLER_PASS_INPUT_GROWTH_H_

#include <optional>
#include <vector>

#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace sn_tf {

// Where a dimension of a step's inputs is larger than any in `*known`: how many
// times as large the input that has grown most is, 1 if none was known.
// Remembers the largest dimensions in `*known`.
std::optional<double> NoteDims(
    const std::vector<tensorflow::TensorShape>& shapes, StepInputDims* known);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_INPUT_GROWTH_H_
