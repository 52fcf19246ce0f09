// SPDX-License-Identifier: Apache-2.0
//
// How a running step tells the planner what it sees. The graph pass registers
// an observer per rewritten graph and writes its number into the graph's
// SnObserve node; the kernel calls it at the start of each step. The registry
// inverts the dependency: kernels know this interface, not the pass.
#ifndef SN_TF_CC_OPS_OBSERVER_H_
#define SN_TF_CC_OPS_OBSERVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/platform/status.h"

namespace sn_tf {

class StepObserver {
 public:
  virtual ~StepObserver() = default;

  // Called once per step, before any other op that the plan orders.
  // `shapes[k]` is the shape of SnObserve's k-th input. A non-OK status fails
  // the step before any weight is written. Thread-safe.
  virtual absl::Status OnStepBegin(
      int64_t step_id, const std::vector<tensorflow::TensorShape>& shapes) = 0;

  // Called before state is written with what ops have computed since the step
  // began, or since the last call. A non-OK status fails the step, and what
  // was computed is not written. Thread-safe.
  virtual absl::Status OnBeforeWrites(int64_t step_id) = 0;

  // Called once per step, after all ops that the plan orders, unless the step
  // failed before. A non-OK status fails it now. Thread-safe.
  virtual absl::Status OnStepEnd(int64_t step_id) = 0;

  // A step has taken this batch from an iterator, at that node. Thread-safe.
  virtual void KeepBatch(const std::string& /*node*/,
                         std::vector<tensorflow::Tensor> /*batch*/) {}

  // The batch that the node shall hand out instead of the iterator's next,
  // because a step failed with it. Thread-safe.
  virtual std::optional<std::vector<tensorflow::Tensor>> TakeBatch(
      const std::string& /*node*/) {
    return std::nullopt;
  }
};

// Keeps `observer` alive until UnregisterObserver. Returns its number, never 0
// and never reused in this process. Thread-safe.
int64_t RegisterObserver(std::shared_ptr<StepObserver> observer);

void UnregisterObserver(int64_t number);

// The observer registered under `number`, or nullptr. A graph may outlive its
// observer; its steps then run unobserved.
std::shared_ptr<StepObserver> FindObserver(int64_t number);

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_OBSERVER_H_
