// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/fault_injection.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <memory>
#include <string>

#include "cc/pool/file_tier.h"
#include "tests/cc/tier_copies.h"

namespace sn_tf {
namespace {

TEST(FaultInjectionTest, ReadsOneFaultOrSeveral) {
  Faults faults;
  std::string error;
  ASSERT_TRUE(ParseFaults("write_eio:3", &faults, &error)) << error;
  EXPECT_EQ(faults.write_eio, 3);
  EXPECT_EQ(faults.read_eio, 0);
  ASSERT_TRUE(
      ParseFaults("read_eio:1,short_write:2,short_read:4,end_of_file:5,"
                  "corrupt:6,disk_full:70000000000",
                  &faults, &error))
      << error;
  EXPECT_EQ(faults.write_eio, 0);
  EXPECT_EQ(faults.read_eio, 1);
  EXPECT_EQ(faults.short_write, 2);
  EXPECT_EQ(faults.short_read, 4);
  EXPECT_EQ(faults.end_of_file, 5);
  EXPECT_EQ(faults.corrupt, 6);
  EXPECT_EQ(faults.disk_full, 70'000'000'000);
}

TEST(FaultInjectionTest, RefusesAllElse) {
  for (const char* text :
       {"", ",", "write_eio", "write_eio:", "write_eio:0", "write_eio:-1",
        "write_eio:x", "write_eio:3x", "write_eio: 3", "write_eio:3,", "fire:1",
        "corrupt:99999999999999999999"}) {
    Faults faults;
    std::string error;
    EXPECT_FALSE(ParseFaults(text, &faults, &error)) << text;
    EXPECT_NE(error.find("Received: '" + std::string(text) + "'"),
              std::string::npos)
        << error;
    EXPECT_NE(error.find("disk_full"), std::string::npos) << error;
  }
}

// The variable, as a process meets it: through the tier that it is meant for.
class FaultVariableTest : public testing::Test {
 protected:
  ~FaultVariableTest() override { unsetenv(kFaultVariable); }

  static std::unique_ptr<FileTier> MakeTier(const char* faults,
                                            TierError* error) {
    setenv(kFaultVariable, faults, /*replace=*/1);
    return FileTier::Create(testing::TempDir(), 1 << 20, error);
  }
};

TEST_F(FaultVariableTest, PutsFaultsIntoTheTier) {
  TierError error;
  const std::unique_ptr<FileTier> tier = MakeTier("write_eio:2", &error);
  ASSERT_NE(tier, nullptr) << error.message;
  const Bytes source = RandomBytes(4000, 1);  // One write each.
  const StoredBuffer first = Store(*tier, source);
  EXPECT_EQ(TryStore(*tier, source.data(), 4000, &error).tier(), nullptr);
  EXPECT_EQ(error.kind, TierError::Kind::kFailed);
  EXPECT_EQ(Load(Store(*tier, source)), source);
  EXPECT_EQ(Load(first), source);
}

TEST_F(FaultVariableTest, EmptyMeansNone) {
  TierError error;
  const std::unique_ptr<FileTier> tier = MakeTier("", &error);
  ASSERT_NE(tier, nullptr) << error.message;
  EXPECT_EQ(Load(Store(*tier, RandomBytes(100, 1))), RandomBytes(100, 1));
}

TEST_F(FaultVariableTest, ABadValueIsAnErrorOfTheFactory) {
  TierError error;
  EXPECT_EQ(MakeTier("write_eio:often", &error), nullptr);
  EXPECT_EQ(error.kind, TierError::Kind::kFailed);
  for (const char* part : {"SN_TF_FAULT", "'write_eio:often'", "Unset it"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
}

}  // namespace
}  // namespace sn_tf
