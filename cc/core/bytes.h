// SPDX-License-Identifier: Apache-2.0
//
// Sizes as people read them, for messages and reports.
#ifndef SN_TF_CC_CORE_BYTES_H_
#define SN_TF_CC_CORE_BYTES_H_

#include <cstdint>
#include <string>

namespace sn_tf {

// `bytes` in the largest decimal unit that leaves a whole part, with one
// digit after the point: "300.0 MB", "-1.5 kB". Below 1 kB exact: "999 B".
std::string FormatBytes(int64_t bytes);

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_BYTES_H_
