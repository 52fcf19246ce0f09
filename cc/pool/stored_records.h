// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_STORED_RECORDS_H_
#define SN_TF_CC_POOL_STORED_RECORDS_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace sn_tf {

// What a tier knows of each buffer that it stores, under the location that the
// buffer's StoredBuffer bears. A Record is movable, default-constructible, and
// has `bytes`, the buffer's size. Thread-safe.
template <typename Record>
class StoredRecords {
 public:
  // The record's location.
  int64_t Add(Record record) {
    std::lock_guard<std::mutex> lock(mutex_);
    stored_bytes_ += record.bytes;
    if (recycled_.empty()) {
      records_.push_back(std::move(record));
      return static_cast<int64_t>(records_.size()) - 1;
    }
    const int64_t location = recycled_.back();
    recycled_.pop_back();
    records_[location] = std::move(record);
    return location;
  }

  // Stays where it is, and what it is, until it is removed.
  const Record& Get(int64_t location) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return records_[location];
  }

  // The record, so that what it owns ends outside the lock.
  Record Remove(int64_t location) {
    std::lock_guard<std::mutex> lock(mutex_);
    Record record = std::exchange(records_[location], Record());
    stored_bytes_ -= record.bytes;
    recycled_.push_back(location);
    return record;
  }

  // Sum of the buffers' sizes.
  int64_t stored_bytes() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return stored_bytes_;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<Record> records_;  // References outlive push_back.
  std::vector<int64_t> recycled_;
  int64_t stored_bytes_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_STORED_RECORDS_H_
