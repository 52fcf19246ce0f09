// SPDX-License-Identifier: Apache-2.0
#include "cc/core/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sn_tf {
namespace {

TEST(FormatBytesTest, SmallSizesAreExact) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(-64), "-64 B");
}

TEST(FormatBytesTest, LargerSizesHaveOneDecimal) {
  EXPECT_EQ(FormatBytes(1000), "1.0 kB");
  EXPECT_EQ(FormatBytes(1536), "1.5 kB");
  EXPECT_EQ(FormatBytes(300'000'000), "300.0 MB");
  EXPECT_EQ(FormatBytes(4'294'967'296), "4.3 GB");
  EXPECT_EQ(FormatBytes(-2'500'000), "-2.5 MB");
}

TEST(FormatBytesTest, RoundingCarriesIntoTheNextUnit) {
  EXPECT_EQ(FormatBytes(999'949), "999.9 kB");
  EXPECT_EQ(FormatBytes(999'950), "1.0 MB");
  EXPECT_EQ(FormatBytes(999'999'999), "1.0 GB");
}

TEST(FormatBytesTest, Extremes) {
  EXPECT_EQ(FormatBytes(INT64_MAX), "9.2 EB");
  EXPECT_EQ(FormatBytes(INT64_MIN), "-9.2 EB");
}

}  // namespace
}  // namespace sn_tf
