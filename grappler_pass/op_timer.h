// SPDX-License-Identifier: Apache-2.0
//
// How long the ops of a step take, as TensorFlow's executor traces them for its
// own profiler. Costs nothing but in the steps that are traced.
#ifndef SN_TF_GRAPPLER_PASS_OP_TIMER_H_
#define SN_TF_GRAPPLER_PASS_OP_TIMER_H_

#include <map>
#include <string>

namespace sn_tf {

using OpSeconds = std::map<std::string, double>;  // By node name.

// Traces from its construction to Stop or its end. The process has one trace:
// while somebody profiles, there is none to be had.
class OpTimer {
 public:
  OpTimer();
  ~OpTimer();
  OpTimer(const OpTimer&) = delete;
  OpTimer& operator=(const OpTimer&) = delete;

  // False where a profiler, or another OpTimer, is at work.
  bool started() const { return started_; }

  // Time per op, summed where one ran more than once. An op that only begins
  // what others end (a copy, a kernel on a GPU) counts as long as it takes to
  // begin it. Empty where it was not started.
  OpSeconds Stop();

 private:
  bool started_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_OP_TIMER_H_
