// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_MEMORY_PROFILE_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_MEMORY_PROFILE_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace sn_tf {

// Bytes per position, with logarithmic range addition and maximum: a segment
// tree whose nodes keep what was added to their whole range.
class MemoryProfile {
 public:
  explicit MemoryProfile(const std::vector<int64_t>& bytes);

  // Adds to every position in [begin, end]; an empty range does nothing.
  void Add(int32_t begin, int32_t end, int64_t bytes);

  // Largest value in [begin, end]; the lowest int64 for an empty range.
  int64_t Max(int32_t begin, int32_t end) const;

  // The last position in [begin, end] with more than `bytes`; -1 where there is
  // none.
  int32_t LastAbove(int32_t begin, int32_t end, int64_t bytes) const;

  // Largest value of all and its first position.
  std::pair<int64_t, int32_t> Peak() const;

  int32_t size() const { return size_; }

 private:
  void Build(int32_t node, int32_t low, int32_t high,
             const std::vector<int64_t>& bytes);
  void Add(int32_t node, int32_t low, int32_t high, int32_t begin, int32_t end,
           int64_t bytes);
  int64_t Max(int32_t node, int32_t low, int32_t high, int32_t begin,
              int32_t end) const;
  int32_t LastAbove(int32_t node, int32_t low, int32_t high, int32_t begin,
                    int32_t end, int64_t bytes) const;

  int32_t size_;
  std::vector<int64_t> max_;    // Of the node's range, `added_` included.
  std::vector<int64_t> added_;  // To the whole of the node's range.
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_MEMORY_PROFILE_H_
