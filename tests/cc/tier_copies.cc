// SPDX-License-Identifier: Apache-2.0
#include "tests/cc/tier_copies.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

namespace sn_tf {

Bytes RandomBytes(int64_t bytes, uint32_t seed) {
  std::minstd_rand random(seed + 1);
  Bytes result(bytes);
  for (uint8_t& byte : result) byte = static_cast<uint8_t>(random() >> 8);
  return result;
}

Bytes ReluBytes(int64_t bytes, uint32_t seed) {
  std::minstd_rand random(seed + 1);
  Bytes result = RandomBytes(bytes, seed);
  for (int64_t at = 0; at + 4 <= bytes; at += 4) {
    if ((random() >> 16) % 2 == 0) std::memset(result.data() + at, 0, 4);
  }
  return result;
}

TierError CopyAll(TierCopy& copy) {
  TierError error;
  for (;;) {
    const TierCopy::Progress progress = copy.CopyChunk(&error);
    EXPECT_EQ(progress == TierCopy::Progress::kFailed, !error.ok());
    if (progress != TierCopy::Progress::kMore) return error;
  }
}

StoredBuffer TryStore(Tier& tier, const void* source, int64_t bytes,
                      TierError* error) {
  const std::unique_ptr<TierWrite> write =
      tier.BeginWrite(source, bytes, error);
  if (write == nullptr) {
    EXPECT_FALSE(error->ok());
    return StoredBuffer();
  }
  *error = CopyAll(*write);
  return error->ok() ? write->Take() : StoredBuffer();
}

StoredBuffer Store(Tier& tier, const Bytes& source) {
  TierError error;
  StoredBuffer stored = TryStore(tier, source.data(),
                                 static_cast<int64_t>(source.size()), &error);
  EXPECT_EQ(error.message, "");
  return stored;
}

TierError LoadTo(const StoredBuffer& stored, void* destination) {
  return CopyAll(*stored.tier()->BeginRead(stored, destination));
}

Bytes Load(const StoredBuffer& stored) {
  Bytes destination(stored.bytes());
  if (stored.tier() == nullptr) {
    ADD_FAILURE() << "nothing is stored";
    return destination;
  }
  EXPECT_EQ(LoadTo(stored, destination.data()).message, "");
  return destination;
}

}  // namespace sn_tf
