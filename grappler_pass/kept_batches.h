// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_KEPT_BATCHES_H_
#define SN_TF_GRAPPLER_PASS_KEPT_BATCHES_H_

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/tensor.h"

namespace sn_tf {

// The batches that a step has taken from its iterators, by the name of the node
// that took them, so that the step can be repeated with the same. Thread-safe.
class KeptBatches {
 public:
  using Batch = std::vector<tensorflow::Tensor>;

  void Keep(const std::string& node, Batch batch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_[node] = std::move(batch);
  }
  void Drop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_.clear();
    again_.clear();
  }
  // Those that are kept come again. False where there are none.
  bool Repeat() {
    const std::lock_guard<std::mutex> lock(mutex_);
    again_ = std::exchange(kept_, {});
    return !again_.empty();
  }
  // The batch that is to come again at that node, once.
  std::optional<Batch> Take(const std::string& node) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = again_.find(node);
    if (found == again_.end()) return std::nullopt;
    Batch batch = std::move(found->second);
    again_.erase(found);
    return batch;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Batch> kept_;
  std::map<std::string, Batch> again_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_KEPT_BATCHES_H_
