// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_RANDOM_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_RANDOM_H_

#include <cstdint>

namespace sn_tf {

// The same numbers on every machine (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t bits = state_ += 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  }

  // Below `count`, which is at least 1.
  int32_t Below(size_t count) { return static_cast<int32_t>(Next() % count); }

  // In [0, 1).
  double Share() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  bool Chance(double share) { return Share() < share; }

 private:
  uint64_t state_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_RANDOM_H_
