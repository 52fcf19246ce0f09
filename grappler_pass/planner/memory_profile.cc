// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/memory_profile.h"

#include <algorithm>
#include <limits>

namespace sn_tf {

MemoryProfile::MemoryProfile(const std::vector<int64_t>& bytes)
    : size_(static_cast<int32_t>(bytes.size())),
      max_(4 * std::max<size_t>(1, bytes.size()), 0),
      added_(max_.size(), 0) {
  if (size_ > 0) Build(1, 0, size_ - 1, bytes);
}

void MemoryProfile::Build(int32_t node, int32_t low, int32_t high,
                          const std::vector<int64_t>& bytes) {
  if (low == high) {
    max_[node] = bytes[low];
    return;
  }
  const int32_t middle = (low + high) / 2;
  Build(2 * node, low, middle, bytes);
  Build(2 * node + 1, middle + 1, high, bytes);
  max_[node] = std::max(max_[2 * node], max_[2 * node + 1]);
}

void MemoryProfile::Add(int32_t begin, int32_t end, int64_t bytes) {
  if (begin <= end && size_ > 0) Add(1, 0, size_ - 1, begin, end, bytes);
}

void MemoryProfile::Add(int32_t node, int32_t low, int32_t high, int32_t begin,
                        int32_t end, int64_t bytes) {
  if (end < low || high < begin) return;
  if (begin <= low && high <= end) {
    max_[node] += bytes;
    added_[node] += bytes;
    return;
  }
  const int32_t middle = (low + high) / 2;
  Add(2 * node, low, middle, begin, end, bytes);
  Add(2 * node + 1, middle + 1, high, begin, end, bytes);
  max_[node] = std::max(max_[2 * node], max_[2 * node + 1]) + added_[node];
}

int64_t MemoryProfile::Max(int32_t begin, int32_t end) const {
  if (begin > end || size_ == 0) return std::numeric_limits<int64_t>::min();
  return Max(1, 0, size_ - 1, begin, end);
}

int64_t MemoryProfile::Max(int32_t node, int32_t low, int32_t high,
                           int32_t begin, int32_t end) const {
  if (end < low || high < begin) return std::numeric_limits<int64_t>::min();
  if (begin <= low && high <= end) return max_[node];
  const int32_t middle = (low + high) / 2;
  return std::max(Max(2 * node, low, middle, begin, end),
                  Max(2 * node + 1, middle + 1, high, begin, end)) +
         added_[node];
}

int32_t MemoryProfile::LastAbove(int32_t begin, int32_t end,
                                 int64_t bytes) const {
  return size_ == 0 ? -1 : LastAbove(1, 0, size_ - 1, begin, end, bytes);
}

int32_t MemoryProfile::LastAbove(int32_t node, int32_t low, int32_t high,
                                 int32_t begin, int32_t end,
                                 int64_t bytes) const {
  if (end < low || high < begin || max_[node] <= bytes) return -1;
  if (low == high) return low;
  const int32_t middle = (low + high) / 2;
  bytes -= added_[node];
  const int32_t right =
      LastAbove(2 * node + 1, middle + 1, high, begin, end, bytes);
  return right >= 0 ? right
                    : LastAbove(2 * node, low, middle, begin, end, bytes);
}

std::pair<int64_t, int32_t> MemoryProfile::Peak() const {
  if (size_ == 0) return {0, -1};
  int32_t node = 1;
  int32_t low = 0;
  int32_t high = size_ - 1;
  while (low < high) {
    const int32_t middle = (low + high) / 2;
    if (max_[2 * node] >= max_[2 * node + 1]) {
      node = 2 * node;
      high = middle;
    } else {
      node = 2 * node + 1;
      low = middle + 1;
    }
  }
  return {max_[1], low};
}

}  // namespace sn_tf
