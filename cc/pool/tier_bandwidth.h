// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_TIER_BANDWIDTH_H_
#define SN_TF_CC_POOL_TIER_BANDWIDTH_H_

#include <cstdint>

#include "cc/pool/tier.h"
#include "cc/pool/tier_error.h"

namespace sn_tf {

struct TierBandwidth {
  double write_bytes_per_s = 0;
  double read_bytes_per_s = 0;
};

// Stores and loads a buffer of `bytes`, or as large a one as the tier has room
// for, in this thread, and measures what the tier does once its pages or blocks
// are there. For a plan's costs; takes as long as four such copies each way.
// The buffer is as activations are: half of its words are zero. On an error,
// which is of a tier that cannot be used, `*bandwidth` is left as it was.
TierError MeasureTierBandwidth(Tier& tier, int64_t bytes,
                               TierBandwidth* bandwidth);

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_TIER_BANDWIDTH_H_
