// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/checked_copy.h"

#include <algorithm>

namespace sn_tf {
namespace {

constexpr int64_t kPieceBytes = int64_t{8} << 20;

}  // namespace

bool ChecksumPass::Advance() {
  const int64_t piece = std::min(kPieceBytes, bytes_ - position_);
  checksum_.Add(data_ + position_, piece);
  position_ += piece;
  return position_ == bytes_;
}

TierCopy::Progress CheckedWrite::CopyChunk(TierError* error) {
  if (summed_up_) return write_->CopyChunk(error);
  summed_up_ = pass_.Advance();
  return Progress::kMore;
}

TierCopy::Progress CheckedRead::CopyChunk(TierError* error) {
  if (!read_all_) {
    const Progress progress = read_->CopyChunk(error);
    if (progress != Progress::kDone) return progress;
    read_all_ = true;
    return Progress::kMore;
  }
  if (!pass_.Advance()) return Progress::kMore;
  if (pass_.Digest() == expected_) return Progress::kDone;
  *error = {TierError::Kind::kCorrupt,
            "What came back is not what was stored: the checksums differ. "
            "Check the memory of this machine."};
  return Progress::kFailed;
}

}  // namespace sn_tf
