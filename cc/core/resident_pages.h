// SPDX-License-Identifier: Apache-2.0
//
// Which pages of an arena's range are resident, and which to give back.
#ifndef SN_TF_CC_CORE_RESIDENT_PAGES_H_
#define SN_TF_CC_CORE_RESIDENT_PAGES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cc/core/arena.h"
#include "cc/core/page_set.h"

namespace sn_tf {

// Takes every allocated page for touched. Not thread-safe.
class ResidentPages {
 public:
  // A free chunk, held, with the part of it that is to be decommitted.
  struct Piece {
    Arena::FreeRange chunk;
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  // Smaller pieces are not worth a system call.
  static constexpr int64_t kLeastPieceBytes = 64 * 1024;
  // A peak counts as recent in the window in which it was and in the next.
  static constexpr int64_t kWindowNs = 10'000'000'000;

  // `page_bytes`, a power of two.
  explicit ResidentPages(int64_t page_bytes)
      : page_bytes_(page_bytes),
        page_shift_(__builtin_ctzll(static_cast<uint64_t>(page_bytes))) {}

  // Notes an allocation. True where it made pages resident.
  bool Touch(int64_t offset, int64_t bytes, int64_t in_use_bytes) {
    window_peak_bytes_ = std::max(window_peak_bytes_, in_use_bytes);
    return pages_.Insert({offset >> page_shift_,
                          (offset + bytes + page_bytes_ - 1) >> page_shift_}) >
           0;
  }

  // Begins a new window where the time has come. Called now and then: a window
  // in which nobody calls lasts longer.
  void Advance(int64_t now_ns, int64_t in_use_bytes);

  // What may stay resident: the budget and an eighth, or where `budget_bytes`
  // is 0 the recent peak and a quarter.
  int64_t WarmLimit(int64_t budget_bytes) const;

  // True where more is resident than may be, and giving back can help: what
  // the last attempt had to leave resident is not tried again until more has
  // come.
  bool ShouldDecommit(int64_t budget_bytes) const;

  // Holds free chunks of `arena`, largest first, until no more than
  // `target_bytes` are resident, and counts their pages as gone. The caller
  // decommits the pieces, and releases the chunks.
  std::vector<Piece> Take(Arena& arena, int64_t target_bytes);

  int64_t resident_bytes() const { return pages_.count() * page_bytes_; }

 private:
  int64_t page_bytes_;
  int page_shift_;
  PageSet pages_;
  int64_t left_bytes_ = 0;  // Resident after the last Take.
  int64_t window_begin_ns_ = 0;
  int64_t window_peak_bytes_ = 0;
  int64_t previous_peak_bytes_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_RESIDENT_PAGES_H_
