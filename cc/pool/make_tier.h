// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_MAKE_TIER_H_
#define SN_TF_CC_POOL_MAKE_TIER_H_

#include <string>
#include <vector>

#include "cc/core/tier_spec.h"
#include "cc/pool/tier_error.h"
#include "cc/pool/unified_pool.h"

namespace sn_tf {

// Where temporary files go: the folder that TMPDIR names, then the system's.
std::vector<std::string> TemporaryFolders();

// The tier that `spec` describes, its bandwidths measured; a file is in
// `swap_dir`, or where that is empty in the first folder for temporary files
// that is on a disk. No tier, and `*error`, where it cannot be made.
PoolTier MakeTier(const TierSpec& spec, const std::string& swap_dir,
                  TierError* error);

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_MAKE_TIER_H_
