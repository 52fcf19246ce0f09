// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/slice.h"

namespace sn_tf {

std::vector<Slice> GroupByKey(const std::vector<int32_t>& key_of,
                              const std::vector<int32_t>& values, size_t keys,
                              std::vector<int32_t>* sorted) {
  std::vector<size_t> next(keys + 1, 0);  // Where each key's next value goes.
  for (const int32_t key : key_of) ++next[key + 1];
  for (size_t key = 0; key < keys; ++key) next[key + 1] += next[key];
  sorted->resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    (*sorted)[next[key_of[i]]++] = values[i];
  }
  std::vector<Slice> groups(keys);
  size_t begin = 0;
  for (size_t key = 0; key < keys; ++key) {
    groups[key] = {sorted->data() + begin, sorted->data() + next[key]};
    begin = next[key];
  }
  return groups;
}

}  // namespace sn_tf
