// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/checksum.h"

#include <algorithm>
#include <cstring>

namespace sn_tf {
namespace {

// Odd, with bits spread evenly: 2^64 divided by the golden ratio.
constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;

uint64_t MixWord(uint64_t lane, uint64_t word) {
  const uint64_t mixed = (lane ^ word) * kFactor;
  return mixed ^ (mixed >> 32);
}

}  // namespace

void Checksum::Mix(Lanes* lanes, const char* stripes, int64_t bytes) {
  // In a local, where the compiler keeps the lanes in registers.
  Lanes mixed = *lanes;
  for (int64_t at = 0; at < bytes; at += kStripeBytes) {
    uint64_t words[kLanes];
    std::memcpy(words, stripes + at, kStripeBytes);
    // Or it stays a loop, at half the speed, below -O3.
#pragma GCC unroll 8
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      mixed[lane] = MixWord(mixed[lane], words[lane]);
    }
  }
  *lanes = mixed;
}

void Checksum::Add(const void* data, int64_t bytes) {
  if (bytes <= 0) return;
  const auto* from = static_cast<const char*>(data);
  const int64_t begun = bytes_ % kStripeBytes;
  bytes_ += bytes;
  if (begun > 0) {
    const int64_t head = std::min(bytes, kStripeBytes - begun);
    std::memcpy(rest_ + begun, from, head);
    if (begun + head < kStripeBytes) return;
    Mix(&lanes_, rest_, kStripeBytes);
    from += head;
    bytes -= head;
  }
  const int64_t whole = bytes & -kStripeBytes;
  Mix(&lanes_, from, whole);
  if (bytes > whole) std::memcpy(rest_, from + whole, bytes - whole);
}

uint64_t Checksum::Digest() const {
  Lanes lanes = lanes_;
  char last[kStripeBytes] = {};
  std::memcpy(last, rest_, bytes_ % kStripeBytes);
  Mix(&lanes, last, kStripeBytes);
  // Zeros at the end count too.
  uint64_t digest = static_cast<uint64_t>(bytes_);
  for (const uint64_t lane : lanes) digest = MixWord(digest, lane);
  return digest;
}

}  // namespace sn_tf
