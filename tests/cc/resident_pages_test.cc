// SPDX-License-Identifier: Apache-2.0
#include "cc/core/resident_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace sn_tf {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kWindow = ResidentPages::kWindowNs;

class ResidentPagesTest : public testing::Test {
 protected:
  int64_t Allocate(int64_t bytes) {
    const int64_t offset = arena_.Allocate(bytes);
    pages_.Touch(offset, bytes, arena_.in_use_bytes());
    return offset;
  }
  void Release(const std::vector<ResidentPages::Piece>& pieces) {
    for (const ResidentPages::Piece& piece : pieces) {
      arena_.Release(piece.chunk);
    }
  }

  // Too small for extents: blocks of all sizes lie side by side.
  Arena arena_{32 * kMiB};
  ResidentPages pages_{kPage};
};

TEST_F(ResidentPagesTest, CountsPagesOnce) {
  EXPECT_TRUE(pages_.Touch(0, 64, 64));
  EXPECT_FALSE(pages_.Touch(64, kPage - 64, kPage));
  EXPECT_EQ(pages_.resident_bytes(), kPage);
  EXPECT_TRUE(pages_.Touch(kPage - 1, 2, kPage));
  EXPECT_EQ(pages_.resident_bytes(), 2 * kPage);
}

TEST_F(ResidentPagesTest, TakesLargestFreeChunksDownToTheTarget) {
  const int64_t small = Allocate(kMiB);
  Allocate(kMiB);
  const int64_t large = Allocate(4 * kMiB);
  Allocate(kMiB);
  arena_.Free(small);
  arena_.Free(large);
  const std::vector<ResidentPages::Piece> pieces =
      pages_.Take(arena_, 4 * kMiB);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].offset, large);
  EXPECT_EQ(pieces[0].bytes, 4 * kMiB);
  EXPECT_EQ(pages_.resident_bytes(), 3 * kMiB);
  EXPECT_NE(arena_.Allocate(4 * kMiB), large) << "held";
  Release(pieces);
  EXPECT_TRUE(arena_.IsValid());
  EXPECT_EQ(arena_.Allocate(4 * kMiB), large);
}

TEST_F(ResidentPagesTest, TakesWholePagesOfFreeChunksOnly) {
  Allocate(512);
  const int64_t middle = Allocate(kMiB);
  Allocate(512);
  arena_.Free(middle);
  const std::vector<ResidentPages::Piece> pieces = pages_.Take(arena_, 0);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].offset, kPage);
  EXPECT_EQ(pieces[0].bytes, kMiB - kPage);
  EXPECT_EQ(pages_.resident_bytes(), 2 * kPage) << "shared with live blocks";
  Release(pieces);
}

TEST_F(ResidentPagesTest, LeavesSmallHolesAndDoesNotTryThemAgain) {
  std::vector<int64_t> holes;
  for (int i = 0; i < 64; ++i) {
    holes.push_back(Allocate(32 * 1024));
    Allocate(32 * 1024);
  }
  for (const int64_t hole : holes) arena_.Free(hole);
  const int64_t budget = 3 * kMiB;
  EXPECT_TRUE(pages_.ShouldDecommit(budget));
  EXPECT_TRUE(pages_.Take(arena_, budget).empty());
  EXPECT_EQ(pages_.resident_bytes(), 4 * kMiB);
  EXPECT_FALSE(pages_.ShouldDecommit(budget));
  const int64_t more = Allocate(kMiB);
  EXPECT_TRUE(pages_.ShouldDecommit(budget));
  arena_.Free(more);
  Release(pages_.Take(arena_, budget));
  EXPECT_EQ(pages_.resident_bytes(), 4 * kMiB);
}

TEST_F(ResidentPagesTest, TheBudgetAndAnEighthStayWarm) {
  Allocate(8 * kMiB);
  EXPECT_EQ(pages_.WarmLimit(4 * kMiB), 4 * kMiB + kMiB / 2);
  EXPECT_EQ(pages_.WarmLimit(0), 10 * kMiB) << "the peak and a quarter";
}

TEST_F(ResidentPagesTest, ThePeakDecaysAfterAFullWindow) {
  pages_.Advance(5 * kWindow, 0);
  arena_.Free(Allocate(8 * kMiB));
  pages_.Advance(5 * kWindow + 1, 0);
  EXPECT_EQ(pages_.WarmLimit(0), 10 * kMiB);
  pages_.Advance(6 * kWindow, 4 * kMiB);
  EXPECT_EQ(pages_.WarmLimit(0), 10 * kMiB) << "one window ago is recent";
  EXPECT_FALSE(pages_.ShouldDecommit(0));
  pages_.Advance(7 * kWindow, 4 * kMiB);
  EXPECT_EQ(pages_.WarmLimit(0), 5 * kMiB);
  EXPECT_TRUE(pages_.ShouldDecommit(0));
}

}  // namespace
}  // namespace sn_tf
