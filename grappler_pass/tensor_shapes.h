// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_TENSOR_SHAPES_H_
#define SN_TF_GRAPPLER_PASS_TENSOR_SHAPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/types.pb.h"
#include "tensorflow/core/grappler/grappler_item.h"

namespace sn_tf {

// Type and shape of one output; a negative dimension is unknown.
struct TensorInfo {
  tensorflow::DataType dtype = tensorflow::DT_INVALID;
  bool known_rank = false;
  std::vector<int64_t> dims;

  bool known() const;
  // Elements times size of the type; -1 where unknown or not plain memory.
  int64_t bytes() const;
};

// Outputs of each node, by name.
using TensorInfos = absl::flat_hash_map<std::string, std::vector<TensorInfo>>;

// One tensor that enters the step with unknown dimensions.
struct StepInput {
  std::string node;
  int port = 0;
  tensorflow::DataType dtype = tensorflow::DT_INVALID;
  bool known_rank = false;
  std::vector<int64_t> dims;  // Negative: unknown.
};

// The shapes that are known of step inputs: for each, in StepInputs' order,
// all dimensions.
using StepInputDims = std::vector<std::vector<int64_t>>;

// The step's inputs that are not fully known, in order of name and port.
std::vector<StepInput> UnknownStepInputs(const tensorflow::GraphDef& graph,
                                         const TensorInfos& infos);

// Infers every output's shape by TensorFlow's own shape functions. `dims`, if
// not empty, says what the inputs of UnknownStepInputs are.
absl::StatusOr<TensorInfos> InferShapes(
    const tensorflow::grappler::GrapplerItem& item,
    const std::vector<StepInput>& inputs, const StepInputDims& dims);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_TENSOR_SHAPES_H_
