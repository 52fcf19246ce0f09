// SPDX-License-Identifier: Apache-2.0
//
// A set of pages of a range, as bits: which pages of an arena are resident.
#ifndef SN_TF_CC_CORE_PAGE_SET_H_
#define SN_TF_CC_CORE_PAGE_SET_H_

#include <cstdint>
#include <vector>

namespace sn_tf {

class PageSet {
 public:
  struct Pages {
    int64_t begin = 0;
    int64_t end = 0;  // One past the last.
  };

  // Both return how many pages changed. Pages never inserted take no space
  // beyond that of the highest page inserted.
  int64_t Insert(Pages pages) {
    return pages.end <= full_end_ ? 0 : InsertBeyondFull(pages);
  }
  int64_t Erase(Pages pages);

  // `pages` without those before the first and after the last that is in the
  // set; begin == end where none is.
  Pages Trim(Pages pages) const;

  int64_t count() const { return count_; }

 private:
  int64_t InsertBeyondFull(Pages pages);
  // Moves full_end_ up to the first page that is not in the set.
  void AdvanceFullEnd();

  std::vector<uint64_t> words_;
  int64_t count_ = 0;
  // All pages below it are in the set. As a rule these are nearly all, so that
  // inserting them once more is a comparison.
  int64_t full_end_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_PAGE_SET_H_
