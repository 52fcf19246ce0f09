// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PARTED_ORDER_H_
#define SN_TF_GRAPPLER_PASS_PARTED_ORDER_H_

#include <string>
#include <vector>

#include "grappler_pass/planner/side_by_side.h"

namespace sn_tf {

// Takes the pairs that run side by side out of a total order while a schedule
// is walked. A frontier: the nodes for which the next one has to wait.
class PartedOrder {
 public:
  PartedOrder(const std::vector<SideBySide>& pairs, const Schedule& schedule)
      : next_(pairs.begin()), end_(pairs.end()), schedule_(schedule) {}

  // To be called before the op at `at` is ordered. Where it may run beside
  // `last`, the last that was, it waits for what that waited for: `before`.
  void Part(Position at, OpId last, const std::vector<std::string>& before,
            std::vector<std::string>* frontier);

  // To be called before each position: what is behind a pair waits for both.
  void JoinBefore(Position at, std::vector<std::string>* frontier);

 private:
  std::vector<SideBySide>::const_iterator next_;
  std::vector<SideBySide>::const_iterator end_;
  const Schedule& schedule_;
  // The frontier of the one, while the other is ordered.
  std::vector<std::string> aside_;
  Position joins_behind_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PARTED_ORDER_H_
