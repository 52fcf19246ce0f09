// SPDX-License-Identifier: Apache-2.0
#include "cc/core/page_set.h"

#include <algorithm>

namespace sn_tf {
namespace {

// The bits of word `word` that belong to [begin, end).
uint64_t MaskOf(int64_t word, int64_t begin, int64_t end) {
  const int64_t from = std::max<int64_t>(begin - word * 64, 0);
  const int64_t to = std::min<int64_t>(end - word * 64, 64);
  const uint64_t below_to = to == 64 ? ~uint64_t{0} : (uint64_t{1} << to) - 1;
  return below_to & (~uint64_t{0} << from);
}

}  // namespace

int64_t PageSet::InsertBeyondFull(Pages pages) {
  pages.begin = std::max(pages.begin, full_end_);
  if (pages.begin >= pages.end) return 0;
  const int64_t last = (pages.end - 1) / 64;
  if (last >= static_cast<int64_t>(words_.size())) words_.resize(last + 1);
  int64_t inserted = 0;
  for (int64_t word = pages.begin / 64; word <= last; ++word) {
    const uint64_t fresh = MaskOf(word, pages.begin, pages.end) & ~words_[word];
    if (fresh == 0) continue;
    words_[word] |= fresh;
    inserted += __builtin_popcountll(fresh);
  }
  count_ += inserted;
  if (pages.begin == full_end_) AdvanceFullEnd();
  return inserted;
}

void PageSet::AdvanceFullEnd() {
  const auto known = static_cast<int64_t>(words_.size()) * 64;
  while (full_end_ < known) {
    const uint64_t missing = ~words_[full_end_ / 64] >> (full_end_ % 64);
    if (missing != 0) {
      full_end_ += __builtin_ctzll(missing);
      return;
    }
    full_end_ += 64 - full_end_ % 64;
  }
}

int64_t PageSet::Erase(Pages pages) {
  const int64_t known = static_cast<int64_t>(words_.size()) * 64;
  pages.end = std::min(pages.end, known);
  if (pages.begin >= pages.end) return 0;
  int64_t erased = 0;
  for (int64_t word = pages.begin / 64; word <= (pages.end - 1) / 64; ++word) {
    const uint64_t gone = MaskOf(word, pages.begin, pages.end) & words_[word];
    words_[word] &= ~gone;
    erased += __builtin_popcountll(gone);
  }
  count_ -= erased;
  full_end_ = std::min(full_end_, pages.begin);
  return erased;
}

PageSet::Pages PageSet::Trim(Pages pages) const {
  const int64_t known = static_cast<int64_t>(words_.size()) * 64;
  pages.end = std::min(pages.end, known);
  if (pages.begin >= pages.end) return {pages.begin, pages.begin};
  Pages trimmed = {pages.begin, pages.begin};
  int64_t word = pages.begin / 64;
  const int64_t last_word = (pages.end - 1) / 64;
  const auto members = [&](int64_t w) {
    return words_[w] & MaskOf(w, pages.begin, pages.end);
  };
  while (word <= last_word && members(word) == 0) ++word;
  if (word > last_word) return trimmed;
  trimmed.begin = word * 64 + __builtin_ctzll(members(word));
  word = last_word;
  while (members(word) == 0) --word;
  trimmed.end = word * 64 + 64 - __builtin_clzll(members(word));
  return trimmed;
}

}  // namespace sn_tf
