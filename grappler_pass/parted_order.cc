// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/parted_order.h"

#include <utility>

namespace sn_tf {

void PartedOrder::Part(Position at, OpId last,
                       const std::vector<std::string>& before,
                       std::vector<std::string>* frontier) {
  while (next_ != end_ && next_->begin < at) ++next_;
  if (next_ == end_ || next_->begin != at ||
      schedule_[next_->first_end].id != last) {
    return;
  }
  joins_behind_ = next_->end;
  aside_ = std::exchange(*frontier, before);
}

void PartedOrder::JoinBefore(Position at, std::vector<std::string>* frontier) {
  if (at <= joins_behind_) return;
  for (std::string& name : aside_) frontier->push_back(std::move(name));
  aside_.clear();
}

}  // namespace sn_tf
