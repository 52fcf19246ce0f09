// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_CHECKSUM_H_
#define SN_TF_CC_POOL_CHECKSUM_H_

#include <array>
#include <cstdint>

namespace sn_tf {

// 64 bits that tell with near certainty whether a buffer came back as it was,
// at the speed of memory. Not against someone who wants to deceive.
//
// Every 64-bit word is mixed into one of eight lanes, in turn, so that the
// processor multiplies several at once. Mixing is a bijection of the lane and
// of the word, so any change within one word changes the result for certain; it
// also brings high bits down, which a product alone would not, so that changes
// of two words hardly make up for each other.
class Checksum {
 public:
  // The same whatever the pieces are that a buffer is added in.
  void Add(const void* data, int64_t bytes);

  // Of all that was added.
  uint64_t Digest() const;

 private:
  static constexpr int64_t kLanes = 8;
  static constexpr int64_t kStripeBytes = kLanes * 8;
  using Lanes = std::array<uint64_t, kLanes>;

  static void Mix(Lanes* lanes, const char* stripes, int64_t bytes);

  // Different, so that words that change places are noticed.
  Lanes lanes_ = {1, 2, 3, 4, 5, 6, 7, 8};
  int64_t bytes_ = 0;
  char rest_[kStripeBytes] = {};  // What has not made a whole stripe yet.
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_CHECKSUM_H_
