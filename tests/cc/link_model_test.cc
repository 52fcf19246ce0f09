// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/link_model.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace sn_tf {
namespace {

constexpr double kPcieLatency = 10e-6;

TEST(LinkModelTest, PresetsAreKnownByName) {
  for (const char* name :
       {"pcie3", "pcie4", "pcie5", "nvlink2", "nvlink4", "unlimited"}) {
    const std::optional<LinkModel> model = ParseLinkModel(name);
    ASSERT_TRUE(model.has_value()) << name;
    EXPECT_EQ(model->name, name);
    EXPECT_NE(ExpectedLinkModels().find(name), std::string::npos);
  }
}

TEST(LinkModelTest, TheNameOutlivesTheText) {
  std::optional<LinkModel> model;
  {
    const std::string text = "a bandwidth of one's own is 800MB/s";
    model = ParseLinkModel(std::string_view(text).substr(28));
  }
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->name, "800MB/s");
}

TEST(LinkModelTest, ACopyTakesLatencyAndItsBytes) {
  const LinkModel model{"test", 100, 50, 2};
  EXPECT_DOUBLE_EQ(model.Seconds(0, HostMemory::kPinned), 2);
  EXPECT_DOUBLE_EQ(model.Seconds(300, HostMemory::kPinned), 5);
  EXPECT_DOUBLE_EQ(model.Seconds(300, HostMemory::kPageable), 8);
  EXPECT_EQ(
      ParseLinkModel("unlimited")->Seconds(1 << 30, HostMemory::kPageable), 0);
}

TEST(LinkModelTest, PinnedIsFasterAndNewerIsFaster) {
  double last = 0;
  for (const char* name : {"pcie3", "pcie4", "pcie5"}) {
    const LinkModel model = *ParseLinkModel(name);
    EXPECT_GT(model.pinned_bytes_per_s, model.pageable_bytes_per_s);
    EXPECT_DOUBLE_EQ(model.pinned_bytes_per_s,
                     last > 0 ? 2 * last : model.pinned_bytes_per_s);
    last = model.pinned_bytes_per_s;
  }
}

TEST(LinkModelTest, BandwidthsAreWrittenInBytes) {
  const struct {
    const char* text;
    double bytes_per_s;
  } kCases[] = {
      {"800MB/s", 800e6},
      {"2GB/s", 2e9},
      {"0.5 TB/s", 0.5e12},
      {"1.25kB/s", 1250},
      {"64KB/s", 64e3},
      {"5000B/s", 5000},
      {"1KiB/s", 1024},
      {"3MiB/s", 3 << 20},
      {"1.5GiB/s", 1.5 * (1 << 30)},
      {"1TiB/s", 1ULL << 40},
      {"1000TB/s", 1e15},
  };
  for (const auto& expected : kCases) {
    const std::optional<LinkModel> model = ParseLinkModel(expected.text);
    ASSERT_TRUE(model.has_value()) << expected.text;
    EXPECT_EQ(model->name, expected.text);
    EXPECT_DOUBLE_EQ(model->pinned_bytes_per_s, expected.bytes_per_s);
    EXPECT_DOUBLE_EQ(model->pageable_bytes_per_s, expected.bytes_per_s / 2);
    EXPECT_DOUBLE_EQ(model->latency_s, kPcieLatency);
  }
}

TEST(LinkModelTest, APresetIsSlowedByAWholeNumber) {
  for (const char* name : {"pcie4", "nvlink4"}) {
    const LinkModel whole = *ParseLinkModel(name);
    for (const int times : {1, 2, 3, 16, 1'000'000}) {
      const std::string text = std::string(name) + "/" + std::to_string(times);
      const std::optional<LinkModel> slowed = ParseLinkModel(text);
      ASSERT_TRUE(slowed.has_value()) << text;
      EXPECT_EQ(slowed->name, text);
      for (const HostMemory memory :
           {HostMemory::kPinned, HostMemory::kPageable}) {
        EXPECT_DOUBLE_EQ(slowed->Seconds(1'000'000, memory),
                         times * whole.Seconds(1'000'000, memory));
      }
    }
  }
}

class BadLinkModelTest : public testing::TestWithParam<const char*> {};

TEST_P(BadLinkModelTest, IsRefused) {
  EXPECT_FALSE(ParseLinkModel(GetParam()).has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadLinkModelTest,
    testing::Values("", " ", "pcie9", "PCIE3", " pcie3", "pcie3 ",  // Names.
                    "/", "/16", "pcie4/", "pcie4/0", "pcie4/-2", "pcie4/1.5",
                    "pcie4/x", "pcie4/16/2", "pcie4/ 16", "pcie4/16 ",
                    "pcie9/16", "pcie4/1000001", "unlimited/2",
                    "pcie4/99999999999999999999999999999999999999",
                    "2GB/s/4",  // Not a preset.
                    "800", "800MB", "800MB/", "MB/s", "800Mb/s", "800mb/s",
                    "800 MB /s", "800MB/s ", " 800MB/s", "800XB/s", "-1GB/s",
                    "+1GB/s", ".5GB/s", "1.GB/s", "1e3MB/s", "0x1GB/s",
                    "1,5GB/s", "infGB/s", "nanGB/s", "0GB/s", "999B/s",
                    "1001TB/s", "1e400GB/s"));

TEST(LinkModelTest, AMillionDigitsAreNoNumber) {
  EXPECT_FALSE(
      ParseLinkModel(std::string(1'000'000, '9') + "MB/s").has_value());
  EXPECT_FALSE(
      ParseLinkModel("pcie4/" + std::string(1'000'000, '9')).has_value());
}

}  // namespace
}  // namespace sn_tf
