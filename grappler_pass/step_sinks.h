// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_STEP_SINKS_H_
#define SN_TF_GRAPPLER_PASS_STEP_SINKS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "cc/allocator/arena_allocator.h"

namespace sn_tf {

// The sinks of a graph's steps (cc/allocator/refusal_sink.h). That of a step
// which failed stays open until it is known to have ended: kernels that run
// beside the one that failed it must not be refused memory either. Not
// thread-safe.
class StepSinks {
 public:
  ~StepSinks() { CloseFailed(); }

  void Open(ArenaAllocator* arena, int64_t step_id) {
    arena_ = arena;
    arena_->OpenSink(step_id);
  }
  // The first refusal of that step.
  std::optional<Refusal> FirstRefusal(int64_t step_id) const {
    return arena_ == nullptr ? std::nullopt : arena_->FirstRefusal(step_id);
  }
  // The step has ended, and ended well.
  void Close(int64_t step_id) {
    if (arena_ != nullptr) arena_->CloseSink(step_id);
  }
  // The step fails, but has not ended yet. False where it failed before.
  bool Fail(int64_t step_id) {
    if (std::find(failed_.begin(), failed_.end(), step_id) != failed_.end()) {
      return false;
    }
    failed_.push_back(step_id);
    return true;
  }
  // All steps that failed have ended.
  void CloseFailed() {
    for (const int64_t step_id : failed_) Close(step_id);
    failed_.clear();
  }

 private:
  ArenaAllocator* arena_ = nullptr;
  std::vector<int64_t> failed_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_STEP_SINKS_H_
