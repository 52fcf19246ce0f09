// SPDX-License-Identifier: Apache-2.0
#include "cc/core/address_range.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace sn_tf {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

// Address sanitizers map terabytes of their own, so a limit on the address
// space would end them, not us.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// How many of the pages of [offset, offset + bytes) are resident.
int64_t ResidentPages(const AddressRange& range, int64_t offset,
                      int64_t bytes) {
  const int64_t page = AddressRange::PageBytes();
  std::vector<unsigned char> pages(static_cast<size_t>(bytes / page));
  if (mincore(range.base() + offset, static_cast<size_t>(bytes),
              pages.data()) != 0) {
    return -1;
  }
  int64_t resident = 0;
  for (const unsigned char state : pages) resident += state & 1;
  return resident;
}

TEST(AddressRangeTest, ReservesMuchMoreThanMemoryAndTakesNone) {
  const int64_t wanted = 4 * AddressRange::PhysicalMemoryBytes();
  const AddressRange range(wanted, kMiB);
  ASSERT_EQ(range.bytes(), wanted);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(range.base()) %
                AddressRange::kBaseAlignmentBytes,
            0u);
  EXPECT_EQ(ResidentPages(range, 0, 16 * kMiB), 0);
  range.base()[0] = 1;
  range.base()[wanted - 1] = 1;
  // Where no huge page is free, the system gives a page.
  const int64_t resident =
      ResidentPages(range, 0, 16 * kMiB) * AddressRange::PageBytes();
  EXPECT_GE(resident, AddressRange::PageBytes());
  EXPECT_LE(resident, range.unit_bytes());
}

TEST(AddressRangeTest, ContainsItsBytesOnly) {
  const AddressRange range(kMiB, kMiB);
  EXPECT_TRUE(range.Contains(range.base()));
  EXPECT_TRUE(range.Contains(range.base() + kMiB - 1));
  EXPECT_FALSE(range.Contains(range.base() + kMiB));
  EXPECT_FALSE(range.Contains(range.base() - 1));
  EXPECT_FALSE(range.Contains(nullptr));
}

TEST(AddressRangeTest, BaseIsAlignedToItsUnits) {
  const AddressRange range(16 * kMiB, 16 * kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(range.base()) %
                static_cast<uintptr_t>(range.unit_bytes()),
            0u);
  EXPECT_EQ(range.unit_bytes() % AddressRange::PageBytes(), 0);
}

TEST(AddressRangeTest, DecommitTakesWholeUnitsInside) {
  AddressRange range(32 * kMiB, 32 * kMiB);
  const int64_t unit = range.unit_bytes();
  const int64_t pages = unit / AddressRange::PageBytes();
  std::memset(range.base(), 1, 8 * static_cast<size_t>(unit));
  ASSERT_EQ(ResidentPages(range, 0, 8 * unit), 8 * pages);
  // From within unit 1 to within unit 6: units 2 to 5 are wholly inside.
  EXPECT_TRUE(range.Decommit(unit + 1, 5 * unit));
  EXPECT_EQ(ResidentPages(range, 0, 8 * unit), 4 * pages);
  EXPECT_EQ(range.base()[unit], 1);
  EXPECT_EQ(range.base()[2 * unit], 0) << "reads as zero when touched again";
  EXPECT_EQ(range.base()[6 * unit], 1);
}

TEST(AddressRangeTest, DecommitOfLessThanAUnitDoesNothing) {
  AddressRange range(8 * kMiB, 8 * kMiB);
  const int64_t unit = range.unit_bytes();
  std::memset(range.base(), 1, 2 * static_cast<size_t>(unit));
  EXPECT_TRUE(range.Decommit(1, 2 * unit - 2));
  EXPECT_EQ(ResidentPages(range, 0, 2 * unit) * AddressRange::PageBytes(),
            2 * unit);
}

// Reserves under a limit on the address space, in a child process. Its exit
// code: 0 when the range is smaller than wanted and leaves room for others.
[[noreturn]] void ReserveUnderLimit() {
  const rlimit limit = {4 * kGiB, 4 * kGiB};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(10);
  AddressRange range(64 * kGiB, kMiB);
  if (range.bytes() < 512 * kMiB) std::_Exit(11);
  if (range.bytes() >= 4 * kGiB) std::_Exit(12);
  range.base()[range.bytes() - 1] = 1;
  void* const other = std::malloc(static_cast<size_t>(range.bytes() / 2));
  std::_Exit(other == nullptr ? 13 : 0);
}

TEST(AddressRangeDeathTest, FallsBackUnderALimit) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs the address space";
  EXPECT_EXIT(ReserveUnderLimit(), testing::ExitedWithCode(0), "");
}

[[noreturn]] void ReserveMoreThanTheLimit() {
  const rlimit limit = {kGiB, kGiB};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(10);
  const AddressRange range(64 * kGiB, 8 * kGiB);
  std::_Exit(range.bytes() == 0 && range.base() == nullptr ? 0 : 11);
}

TEST(AddressRangeDeathTest, GivesUpBelowTheLeast) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs the address space";
  EXPECT_EXIT(ReserveMoreThanTheLimit(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sn_tf
