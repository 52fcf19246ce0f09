// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_PLAN_FRONT_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_PLAN_FRONT_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "grappler_pass/planner/plan.h"

namespace sn_tf {

// Schedules of one route of which none is both smaller and faster than another:
// for each budget the fastest of all that were offered. So a larger budget
// never gets a slower one.
class PlanFront {
 public:
  struct Entry {
    double added_seconds;
    Schedule schedule;
  };

  // Keeps the schedule where it is of use.
  void Offer(const Schedule& schedule, int64_t peak_bytes,
             double added_seconds);

  // Whether Offer would keep it.
  bool IsOfUse(int64_t peak_bytes, double added_seconds) const;

  // The fastest within the budget; null where none is.
  const Entry* Within(int64_t budget_bytes) const;

  // By their peaks: each slower than those before it, backwards.
  const std::map<int64_t, Entry>& entries() const { return entries_; }

  // How many were kept, also those for which there is better by now.
  size_t kept() const { return kept_; }

 private:
  std::map<int64_t, Entry> entries_;
  size_t kept_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_PLAN_FRONT_H_
