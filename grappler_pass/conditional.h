// SPDX-License-Identifier: Apache-2.0
//
// Conditionals of a step whose branches have an order.
#ifndef SN_TF_GRAPPLER_PASS_CONDITIONAL_H_
#define SN_TF_GRAPPLER_PASS_CONDITIONAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "grappler_pass/planner/graph.h"

namespace sn_tf {

// What a conditional may need that cannot be ordered.
inline constexpr int64_t kMostBranchBytes = int64_t{1} << 20;

struct Branch;

struct Conditional {
  std::string name;  // That of a node of it; see NestedFlow.
  std::vector<Branch> branches;
  std::vector<std::string> exits;  // The nodes that hand on what leaves it.
  // The most that it may have allocated at once, what leaves it included.
  int64_t bytes = 0;
  double seconds = 0;   // That its slowest branch takes.
  OpId inside = kNone;  // What stands for its branches in the MemoryGraph.
};

// What is on a branch and touches memory runs in this order.
struct BranchItem {
  std::string node;  // Empty: the conditional below.
  bool writes_state = false;
  std::vector<Conditional> nested;  // One or none.
};

struct Branch {
  std::vector<BranchItem> items;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_CONDITIONAL_H_
