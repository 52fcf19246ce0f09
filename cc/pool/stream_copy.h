// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_STREAM_COPY_H_
#define SN_TF_CC_POOL_STREAM_COPY_H_

#include <cstdint>

namespace sn_tf {

// Copies past the caches, where the processor can: what is copied is not needed
// soon, and what the running ops keep in the caches is. memcpy does so only
// for blocks larger than the last cache. At 64 MiB beside a matrix product this
// copies as fast as one memcpy of the whole, 1.5 to 2 times as fast as memcpy
// in pieces, and takes the least time from the product per byte. The blocks
// must not overlap.
void StreamCopy(void* destination, const void* source, int64_t bytes);

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_STREAM_COPY_H_
