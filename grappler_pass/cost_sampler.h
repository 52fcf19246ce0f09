// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_COST_SAMPLER_H_
#define SN_TF_GRAPPLER_PASS_COST_SAMPLER_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "grappler_pass/op_timer.h"

namespace sn_tf {

// Times some steps of one instance of a graph. Its first step makes kernels
// and their caches, so those after it are timed; the least time of an op is
// the one that other programs disturbed least.
class CostSampler {
 public:
  void BeginStep(int64_t step_id);

  // The times, once there are enough; from then on it is of no more use.
  std::optional<OpSeconds> EndStep(int64_t step_id);

  // A step failed: what was measured of it does not count.
  void Abandon() { timer_.reset(); }

 private:
  int64_t begun_ = 0;
  int64_t timed_step_ = 0;
  std::unique_ptr<OpTimer> timer_;  // Of a step under way.
  int samples_ = 0;
  OpSeconds least_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_COST_SAMPLER_H_
