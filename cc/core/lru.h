// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_CORE_LRU_H_
#define SN_TF_CC_CORE_LRU_H_

#include <list>
#include <unordered_map>

namespace sn_tf {

// Keys in the order of their last use. Not thread-safe.
template <typename Key>
class Lru {
 public:
  // `key` is the most recently used one from here on.
  void Touch(const Key& key) {
    Erase(key);
    order_.push_front(key);
    position_[key] = order_.begin();
  }

  // False where it is not there.
  bool Erase(const Key& key) {
    const auto found = position_.find(key);
    if (found == position_.end()) return false;
    order_.erase(found->second);
    position_.erase(found);
    return true;
  }

  // From the least recently used to the most recently used one.
  auto begin() const { return order_.rbegin(); }
  auto end() const { return order_.rend(); }

 private:
  std::list<Key> order_;  // The most recently used first.
  std::unordered_map<Key, typename std::list<Key>::iterator> position_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_LRU_H_
