// SPDX-License-Identifier: Apache-2.0
//
// Addresses that take whatever is written and keep nothing of it.
#ifndef SN_TF_CC_CORE_SINK_RANGE_H_
#define SN_TF_CC_CORE_SINK_RANGE_H_

#include <cstdint>

namespace sn_tf {

// A range all of whose pages are the same few: it looks like memory of any
// size to a kernel that has to finish, and takes next to none. What is read
// from it is arbitrary.
class SinkRange {
 public:
  // base() is nullptr where the system refuses.
  explicit SinkRange(int64_t bytes);
  ~SinkRange();

  SinkRange(const SinkRange&) = delete;
  SinkRange& operator=(const SinkRange&) = delete;

  char* base() const { return base_; }
  int64_t bytes() const { return bytes_; }

 private:
  void* mapping_ = nullptr;  // base_, before it was aligned.
  int64_t mapping_bytes_ = 0;
  char* base_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_SINK_RANGE_H_
