// SPDX-License-Identifier: Apache-2.0
#include "cc/core/tier_spec.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sn_tf {
namespace {

using Specs = std::vector<TierSpec>;

Specs Parsed(const std::string& text) {
  Specs specs;
  std::string error;
  EXPECT_TRUE(ParseTierSpecs(text, &specs, &error)) << error;
  return specs;
}

std::string Error(const std::string& text) {
  const Specs before = {{TierKind::kFile, 7}};
  Specs specs = before;
  std::string error;
  EXPECT_FALSE(ParseTierSpecs(text, &specs, &error)) << text;
  EXPECT_TRUE(specs == before) << text;
  return error;
}

TEST(TierSpecTest, ReadsTiersInTheirOrder) {
  EXPECT_TRUE(Parsed("host") == (Specs{{TierKind::kHost, 0}}));
  EXPECT_TRUE(Parsed("file") == (Specs{{TierKind::kFile, 0}}));
  EXPECT_TRUE(Parsed("host:2GB,file:20GB") ==
              (Specs{{TierKind::kHost, 2'000'000'000},
                     {TierKind::kFile, 20'000'000'000}}));
  EXPECT_TRUE(
      Parsed("compressed:1GiB,file") ==
      (Specs{{TierKind::kCompressed, int64_t{1} << 30}, {TierKind::kFile, 0}}));
  EXPECT_TRUE(Parsed(" file : 5 MB , host ") ==
              (Specs{{TierKind::kFile, 5'000'000}, {TierKind::kHost, 0}}));
}

TEST(TierSpecTest, SizesAreThoseOfBudgets) {
  const std::vector<std::pair<std::string, int64_t>> kSizes = {
      {"123", 123},
      {"123B", 123},
      {"1KB", 1000},
      {"1kb", 1000},
      {"2MB", 2'000'000},
      {"3TB", 3'000'000'000'000},
      {"1KiB", 1024},
      {"800MiB", 800 * int64_t{1048576}},
      {"1tib", int64_t{1} << 40},
      {"1.5GiB", 3 * (int64_t{1} << 29)},
      {"0.5 MB", 500'000},
      {"2.25 GB", 2'250'000'000},
      {"1152921504606846975", (int64_t{1} << 60) - 1}};
  for (const auto& [text, bytes] : kSizes) {
    EXPECT_TRUE(Parsed("host:" + text) == (Specs{{TierKind::kHost, bytes}}))
        << text;
  }
}

TEST(TierSpecTest, SaysWhatWasReceivedAndWhatIsAccepted) {
  const std::string error = Error("host,gpu:2GB");
  for (const char* part :
       {"no tier is called 'gpu'", "Received: 'host,gpu:2GB'", "'host'",
        "'compressed'", "'file'", "at most once", "host:2GB,file"}) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  }
  EXPECT_NE(Error("file:1GB,host,file").find("'file' stands twice"),
            std::string::npos);
  EXPECT_NE(Error("host:much").find("'much' is no size"), std::string::npos);
}

TEST(TierSpecTest, RefusesWhatIsNoTier) {
  for (const char* text : {"",
                           ",",
                           "host,",
                           ",host",
                           "host,,file",
                           "Host",
                           "none",
                           "auto",
                           "host file",
                           "host:",
                           "host:0",
                           "host:0.0GB",
                           "host:0.5B",
                           "host:-1GB",
                           "host:+1GB",
                           "host:1e9",
                           "host:.5GB",
                           "host:5.GB",
                           "host:1.2.3GB",
                           "host:1G",
                           "host:1XB",
                           "host:10%",
                           "host:GB",
                           "host:1 G B",
                           "host:1GB:2GB",
                           "host:1152921504606846976",
                           "host:1048576TiB",
                           "host:99999999999999999999",
                           "host:9999999.5TB"}) {
    Error(text);
  }
}

TEST(TierSpecTest, TheTextReadsBackTheSame) {
  EXPECT_EQ(TierSpecsText({}), "");
  EXPECT_EQ(TierSpecsText(Parsed("host:2000MB,file")), "host:2GB,file");
  EXPECT_EQ(TierSpecsText(Parsed(" compressed : 1.5GiB ")),
            "compressed:1536MiB");
  EXPECT_EQ(TierSpecsText(Parsed("file:1001,host:1023KiB")),
            "file:1001B,host:1023KiB");
  for (const char* text :
       {"host", "host:1B,file:999TB", "file:1TiB,compressed:3GB,host:7KB"}) {
    EXPECT_EQ(TierSpecsText(Parsed(text)), text);
  }
}

}  // namespace
}  // namespace sn_tf
