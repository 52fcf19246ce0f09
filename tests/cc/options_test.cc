// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/options.h"

#include <gtest/gtest.h>

namespace sn_tf {
namespace {

TEST(OptionsTest, DefaultsRoundTripThroughTheTable) {
  std::map<std::string, std::string> values;
  for (const OptionInfo& option : OptionTable()) {
    values[option.name] = option.default_value;
  }
  PlannerOptions options;
  options.budget_bytes = 5;
  ASSERT_EQ(ParseOptions(values, &options), "");
  EXPECT_EQ(options.budget_bytes, 0);
  EXPECT_EQ(options.policy, "auto");
  EXPECT_EQ(options.cache, "on");
  EXPECT_EQ(options.min_buffer_bytes, PlannerOptions().min_buffer_bytes);
}

TEST(OptionsTest, ValuesAreRead) {
  PlannerOptions options;
  ASSERT_EQ(ParseOptions({{"budget_bytes", "300000000"}, {"tiers", "none"}},
                         &options),
            "");
  EXPECT_EQ(options.budget_bytes, 300000000);
  EXPECT_EQ(options.tiers, "none");
}

TEST(OptionsTest, BadValuesAreNamed) {
  PlannerOptions options;
  EXPECT_EQ(ParseOptions({{"budget_bytes", "-3"}}, &options),
            "Invalid value for option `budget_bytes`. Received: \"-3\". "
            "Expected an integer of at least 0.");
  EXPECT_EQ(ParseOptions({{"batch_size", "32x"}}, &options),
            "Invalid value for option `batch_size`. Received: \"32x\". "
            "Expected an integer of at least 0.");
  EXPECT_EQ(ParseOptions({{"policy", "magic"}}, &options),
            "Invalid value for option `policy`. Received: \"magic\". "
            "Expected one of \"auto\" \"liveness\" \"swap\" "
            "\"vdnn_all\" \"vdnn_conv\" \"vdnn_dyn\" "
            "\"speed_centric\" \"memory_centric\" \"cost_aware\" "
            "\"superneurons\".");
  EXPECT_EQ(ParseOptions({{"cache", "maybe"}}, &options),
            "Invalid value for option `cache`. Received: \"maybe\". "
            "Expected one of \"on\" \"off\".");
}

TEST(OptionsTest, TiersAreReadAsALineOfThem) {
  PlannerOptions options;
  ASSERT_EQ(ParseOptions({{"tiers", "host:2GB,file"}}, &options), "");
  EXPECT_EQ(TiersOf(options), "host:2GB,file");
  ASSERT_EQ(ParseOptions({{"tiers", "auto"}}, &options), "");
  EXPECT_EQ(TiersOf(options), "host");
  EXPECT_EQ(ParseOptions({{"tiers", "host:64KiB"}}, &options), "");
  EXPECT_EQ(
      ParseOptions({{"tiers", "file,host:50"}}, &options),
      "Invalid value for option `tiers`. Received: \"file,host:50\". "
      "Expected \"auto\", \"none\" or a list. A tier of 50 B has room for "
      "no buffer that leaves. Give sizes with their units, such as "
      "'host:2GB'.");
  const std::string error = ParseOptions({{"tiers", "host:2XB"}}, &options);
  EXPECT_NE(error.find("'2XB' is no size"), std::string::npos) << error;
}

TEST(OptionsTest, UnknownOptionsAreNamed) {
  PlannerOptions options;
  const std::string error = ParseOptions({{"buget_bytes", "3"}}, &options);
  EXPECT_EQ(error.rfind("Unknown option `buget_bytes`. Known options: "
                        "budget_bytes policy",
                        0),
            0u);
}

}  // namespace
}  // namespace sn_tf
