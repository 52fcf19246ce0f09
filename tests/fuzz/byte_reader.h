// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_FUZZ_BYTE_READER_H_
#define SN_TF_TESTS_FUZZ_BYTE_READER_H_

#include <cstddef>
#include <cstdint>

namespace sn_tf {

// Takes what a fuzzer feeds from the front. Zeros follow the end.
class ByteReader {
 public:
  ByteReader(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }

  uint8_t Byte() {
    if (empty()) return 0;
    --size_;
    return *data_++;
  }

  // A number of `count` bytes, up to 8, the least significant first.
  uint64_t Number(int count) {
    uint64_t number = 0;
    for (int i = 0; i < count; ++i) number |= uint64_t{Byte()} << (8 * i);
    return number;
  }

  // A byte as a number in [0, limit); the limit is positive.
  size_t Below(size_t limit) { return Byte() % limit; }

 private:
  const uint8_t* data_;
  size_t size_;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_FUZZ_BYTE_READER_H_
