// SPDX-License-Identifier: Apache-2.0
#include "cc/core/resident_pages.h"

#include <algorithm>

namespace sn_tf {

void ResidentPages::Advance(int64_t now_ns, int64_t in_use_bytes) {
  if (now_ns - window_begin_ns_ < kWindowNs) return;
  previous_peak_bytes_ = window_peak_bytes_;
  window_peak_bytes_ = in_use_bytes;
  window_begin_ns_ = now_ns;
}

int64_t ResidentPages::WarmLimit(int64_t budget_bytes) const {
  // The shares leave room for fragmentation: steps that repeat shall find all
  // of their pages resident. A page given back and touched again costs more
  // than copying its bytes.
  if (budget_bytes > 0) return budget_bytes + budget_bytes / 8;
  const int64_t peak = std::max(window_peak_bytes_, previous_peak_bytes_);
  return peak + peak / 4;
}

bool ResidentPages::ShouldDecommit(int64_t budget_bytes) const {
  const int64_t limit = WarmLimit(budget_bytes);
  return resident_bytes() >
         std::max(limit, left_bytes_ + std::max(limit / 64, page_bytes_));
}

std::vector<ResidentPages::Piece> ResidentPages::Take(Arena& arena,
                                                      int64_t target_bytes) {
  std::vector<Piece> pieces;
  const std::vector<Arena::FreeRange> chunks =
      arena.FreeRanges(kLeastPieceBytes);
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
    if (resident_bytes() <= target_bytes) break;
    const PageSet::Pages pages =
        pages_.Trim({(chunk->offset + page_bytes_ - 1) / page_bytes_,
                     (chunk->offset + chunk->bytes) / page_bytes_});
    const int64_t bytes = (pages.end - pages.begin) * page_bytes_;
    if (bytes < kLeastPieceBytes) continue;
    arena.Hold(*chunk);
    pages_.Erase(pages);
    pieces.push_back({*chunk, pages.begin * page_bytes_, bytes});
  }
  left_bytes_ = resident_bytes();
  return pieces;
}

}  // namespace sn_tf
