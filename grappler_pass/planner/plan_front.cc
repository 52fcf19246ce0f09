// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/plan_front.h"

#include <iterator>

namespace sn_tf {

void PlanFront::Offer(const Schedule& schedule, int64_t peak_bytes,
                      double added_seconds) {
  if (!IsOfUse(peak_bytes, added_seconds)) return;
  auto next = entries_.lower_bound(peak_bytes);
  while (next != entries_.end() &&
         next->second.added_seconds >= added_seconds) {
    next = entries_.erase(next);
  }
  entries_[peak_bytes] = {added_seconds, schedule};
  ++kept_;
}

bool PlanFront::IsOfUse(int64_t peak_bytes, double added_seconds) const {
  const Entry* const rival = Within(peak_bytes);
  return rival == nullptr || added_seconds < rival->added_seconds;
}

const PlanFront::Entry* PlanFront::Within(int64_t budget_bytes) const {
  const auto next = entries_.upper_bound(budget_bytes);
  return next == entries_.begin() ? nullptr : &std::prev(next)->second;
}

}  // namespace sn_tf
