// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/tier_bandwidth.h"

#include <chrono>
#include <memory>
#include <vector>

namespace sn_tf {
namespace {

// After a first one, which makes pages resident and blocks allocated.
constexpr int kRounds = 3;

// Below this, what is measured is not the bandwidth.
constexpr int64_t kLeastBytes = 64 * 1024;

std::vector<uint32_t> ActivationLike(int64_t bytes) {
  std::vector<uint32_t> words((bytes + 3) / 4);
  uint32_t state = 1;
  for (uint32_t& word : words) {
    state = state * 1664525 + 1013904223;
    word = state >> 31 == 0 ? 0 : state;
  }
  return words;
}

// Seconds that all of `copy` takes.
double TimedCopy(TierCopy& copy, TierError* error) {
  const auto begin = std::chrono::steady_clock::now();
  while (copy.CopyChunk(error) == TierCopy::Progress::kMore) {
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

struct Seconds {
  double write = 0;
  double read = 0;
};

// One buffer there and back; adds what it took.
TierError CopyBothWays(Tier& tier, std::vector<uint32_t>& buffer, int64_t bytes,
                       Seconds* seconds) {
  TierError error;
  const std::unique_ptr<TierWrite> write =
      tier.BeginWrite(buffer.data(), bytes, &error);
  if (write == nullptr) return error;
  seconds->write += TimedCopy(*write, &error);
  if (!error.ok()) return error;
  const StoredBuffer stored = write->Take();
  seconds->read += TimedCopy(*tier.BeginRead(stored, buffer.data()), &error);
  return error;
}

TierError Measure(Tier& tier, std::vector<uint32_t>& buffer, int64_t bytes,
                  TierBandwidth* bandwidth) {
  Seconds first;
  TierError error = CopyBothWays(tier, buffer, bytes, &first);
  Seconds seconds;
  for (int round = 0; round < kRounds && error.ok(); ++round) {
    error = CopyBothWays(tier, buffer, bytes, &seconds);
  }
  if (!error.ok()) return error;
  const auto copied = static_cast<double>(kRounds * bytes);
  bandwidth->write_bytes_per_s = copied / seconds.write;
  bandwidth->read_bytes_per_s = copied / seconds.read;
  return error;
}

}  // namespace

TierError MeasureTierBandwidth(Tier& tier, int64_t bytes,
                               TierBandwidth* bandwidth) {
  std::vector<uint32_t> buffer = ActivationLike(bytes);
  for (;;) {
    TierError error = Measure(tier, buffer, bytes, bandwidth);
    if (error.kind != TierError::Kind::kFull || bytes / 2 < kLeastBytes) {
      return error;
    }
    bytes /= 2;
  }
}

}  // namespace sn_tf
