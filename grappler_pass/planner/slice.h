// SPDX-License-Identifier: Apache-2.0
//
// Many short lists of numbers in one array: plans of large graphs take most of
// their time to fetch from memory what they look at.
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_SLICE_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_SLICE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sn_tf {

// Numbers that stand one after the other in an array of somebody else.
class Slice {
 public:
  Slice() = default;
  Slice(const int32_t* begin, const int32_t* end) : begin_(begin), end_(end) {}

  const int32_t* begin() const { return begin_; }
  const int32_t* end() const { return end_; }
  bool empty() const { return begin_ == end_; }
  size_t size() const { return static_cast<size_t>(end_ - begin_); }
  int32_t front() const { return *begin_; }
  int32_t back() const { return *(end_ - 1); }
  int32_t operator[](size_t i) const { return begin_[i]; }

 private:
  const int32_t* begin_ = nullptr;
  const int32_t* end_ = nullptr;
};

// Sorts `values` by their keys, those of equal keys in their order, into
// `*sorted`. Returns for each key, of 0 to `keys` - 1, where its values are
// there.
std::vector<Slice> GroupByKey(const std::vector<int32_t>& key_of,
                              const std::vector<int32_t>& values, size_t keys,
                              std::vector<int32_t>* sorted);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_SLICE_H_
