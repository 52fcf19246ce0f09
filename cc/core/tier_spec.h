// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_CORE_TIER_SPEC_H_
#define SN_TF_CC_CORE_TIER_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sn_tf {

enum class TierKind { kHost, kCompressed, kFile };

// "host", "compressed", "file": Tier::name of that kind.
const char* TierName(TierKind kind);

// One tier as a user asks for it.
struct TierSpec {
  TierKind kind = TierKind::kHost;
  int64_t limit_bytes = 0;  // 0: as much as the system allows.

  bool operator==(const TierSpec& other) const {
    return kind == other.kind && limit_bytes == other.limit_bytes;
  }
};

// Reads tiers in the order in which they are to be filled, each at most once:
// "host:2GB,file:20GB", "compressed:1.5GiB,file", "file". Sizes are numbers
// with an optional unit: B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB,
// TiB (powers of 1024), in any case. False, and a message in `*error`, where
// `text` is nothing such.
bool ParseTierSpecs(std::string_view text, std::vector<TierSpec>* specs,
                    std::string* error);

// The text that ParseTierSpecs reads the same from, the shortest in whole
// numbers: "host:2GB,file".
std::string TierSpecsText(const std::vector<TierSpec>& specs);

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_TIER_SPEC_H_
