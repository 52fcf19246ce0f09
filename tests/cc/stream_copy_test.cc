// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/stream_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sn_tf {
namespace {

// Bytes that differ from their neighbours at every alignment.
std::vector<uint8_t> Pattern(int64_t bytes) {
  std::vector<uint8_t> pattern(bytes);
  uint32_t state = 1;
  for (uint8_t& byte : pattern) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return pattern;
}

TEST(StreamCopyTest, CopiesExactlyTheBlockAtEveryAlignment) {
  constexpr int64_t kRoom = 512;
  constexpr uint8_t kUntouched = 0xA5;
  const std::vector<uint8_t> source = Pattern(kRoom);
  for (const int64_t from : {0, 1, 15, 16, 63}) {
    for (int64_t to = 0; to < 64; ++to) {
      for (const int64_t bytes : {0, 1, 63, 64, 65, 127, 128, 200, 257}) {
        std::vector<uint8_t> destination(kRoom, kUntouched);
        StreamCopy(destination.data() + to, source.data() + from, bytes);
        for (int64_t i = 0; i < kRoom; ++i) {
          const bool inside = i >= to && i < to + bytes;
          ASSERT_EQ(destination[i], inside ? source[i - to + from] : kUntouched)
              << "byte " << i << " of " << bytes << " from " << from << " to "
              << to;
        }
      }
    }
  }
}

TEST(StreamCopyTest, CopiesLargeBlocks) {
  const std::vector<uint8_t> source = Pattern((int64_t{9} << 20) + 13);
  std::vector<uint8_t> destination(source.size());
  StreamCopy(destination.data(), source.data(),
             static_cast<int64_t>(source.size()));
  EXPECT_EQ(destination, source);
}

TEST(StreamCopyTest, EmptyBlocksMayBeNull) { StreamCopy(nullptr, nullptr, 0); }

}  // namespace
}  // namespace sn_tf
