// SPDX-License-Identifier: Apache-2.0
//
// Whole copies to and from a tier, for tests.
#ifndef SN_TF_TESTS_CC_TIER_COPIES_H_
#define SN_TF_TESTS_CC_TIER_COPIES_H_

#include <cstdint>
#include <vector>

#include "cc/pool/tier.h"

namespace sn_tf {

using Bytes = std::vector<uint8_t>;

// Bytes that follow from `seed` and have no pattern.
Bytes RandomBytes(int64_t bytes, uint32_t seed);

// As floats after a ReLU: every other 32-bit word is zero, at random.
Bytes ReluBytes(int64_t bytes, uint32_t seed);

// Every chunk of `copy`. kNone when it is done.
TierError CopyAll(TierCopy& copy);

// What was stored; nothing, and `*error`, on an error.
StoredBuffer TryStore(Tier& tier, const void* source, int64_t bytes,
                      TierError* error);

// The same; fails the test on an error.
StoredBuffer Store(Tier& tier, const Bytes& source);

TierError LoadTo(const StoredBuffer& stored, void* destination);

// What `stored` holds; fails the test on an error.
Bytes Load(const StoredBuffer& stored);

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_TIER_COPIES_H_
