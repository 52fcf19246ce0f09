// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_TIER_ERROR_H_
#define SN_TF_CC_POOL_TIER_ERROR_H_

#include <string>
#include <utility>

namespace sn_tf {

// Why a tier did not do what it was asked to.
struct TierError {
  enum class Kind {
    kNone,
    kFull,       // It has no room; another tier may have.
    kFailed,     // It is broken: an input/output error, a short read.
    kCorrupt,    // What came back is not what was stored.
    kCancelled,  // Nobody needs it any more.
  };

  TierError() = default;
  TierError(Kind error_kind, std::string text)
      : kind(error_kind), message(std::move(text)) {}

  bool ok() const { return kind == Kind::kNone; }

  Kind kind = Kind::kNone;
  // Says what happened, what was received, and what to do.
  std::string message;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_TIER_ERROR_H_
