// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_PHASES_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_PHASES_H_

#include <array>
#include <cstddef>

namespace sn_tf {

// The parts of a run of the pass whose time is told.
enum class Phase { kShapes, kImport, kRoute, kPlan, kVerify, kRewrite };
inline constexpr std::array<const char*, 6> kPhaseNames = {
    "shapes", "import", "route", "plan", "verify", "rewrite"};

// Seconds of processor time in each phase, in the order of `Phase`: what else
// the machine does is not in it, and the pass waits for nothing.
using PhaseSeconds = std::array<double, kPhaseNames.size()>;

// While it exists, this thread is in a phase; inside another, in that one no
// longer.
class PhaseTimer {
 public:
  explicit PhaseTimer(Phase phase);
  ~PhaseTimer();
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  // Counts the time since `since_`, and begins anew.
  void Count();

  const size_t phase_;
  PhaseTimer* const outer_;
  double since_;
};

// What this thread has spent in each phase since the last call.
PhaseSeconds TakePhaseSeconds();

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PHASES_H_
