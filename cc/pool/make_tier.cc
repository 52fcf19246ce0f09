// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/make_tier.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "cc/pool/file_tier.h"
#include "cc/pool/host_tier.h"

namespace sn_tf {
namespace {

// Asks for checksums on every tier, not only on those that leave this machine's
// memory.
constexpr char kChecksumsVariable[] = "SN_TF_CHECKSUMS";

bool ChecksumsEverywhere() {
  const char* const value = std::getenv(kChecksumsVariable);
  return value != nullptr && std::string(value) == "1";
}

}  // namespace

PoolTier MakeTier(const TierSpec& spec, const std::string& swap_dir,
                  std::string* error) {
  PoolTier made;
  made.checked = ChecksumsEverywhere();
  if (spec.name == "host") {
    made.tier = std::make_unique<HostTier>(spec.limit_bytes);
  } else if (spec.name == "file") {
    TierError failed;
    made.tier = FileTier::Create(swap_dir.empty() ? "/tmp" : swap_dir,
                                 spec.limit_bytes, &failed);
    if (made.tier == nullptr) *error = failed.message;
  }
  return made;
}

}  // namespace sn_tf
