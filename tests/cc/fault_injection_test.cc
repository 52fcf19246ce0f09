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
  EXPECT_EQ(faults.write_eio, OneCall(3));
  EXPECT_EQ(faults.read_eio, FaultyCalls());
  ASSERT_TRUE(
      ParseFaults("read_eio:1,short_write:2,short_read:4,end_of_file:5,"
                  "corrupt:6,disk_full:70000000000",
                  &faults, &error))
      << error;
  EXPECT_EQ(faults.write_eio, FaultyCalls());
  EXPECT_EQ(faults.read_eio, OneCall(1));
  EXPECT_EQ(faults.short_write, OneCall(2));
  EXPECT_EQ(faults.short_read, OneCall(4));
  EXPECT_EQ(faults.end_of_file, OneCall(5));
  EXPECT_EQ(faults.corrupt, OneCall(6));
  EXPECT_EQ(faults.disk_full, 70'000'000'000);
  ASSERT_TRUE(ParseFaults("corrupt_write:7,read_eio:8+", &faults, &error))
      << error;
  EXPECT_EQ(faults.corrupt_write, OneCall(7));
  EXPECT_EQ(faults.read_eio, CallsFrom(8));
}

TEST(FaultInjectionTest, CallsAreCountedFromOne) {
  for (const int64_t call : {int64_t{1}, int64_t{2}, int64_t{3}, INT64_MAX}) {
    EXPECT_FALSE(FaultyCalls().Include(call)) << call;
    EXPECT_EQ(OneCall(2).Include(call), call == 2) << call;
    EXPECT_EQ(CallsFrom(2).Include(call), call >= 2) << call;
  }
}

TEST(FaultInjectionTest, RefusesAllElse) {
  for (const char* text :
       {"", ",", "write_eio", "write_eio:", "write_eio:0", "write_eio:-1",
        "write_eio:x", "write_eio:3x", "write_eio: 3", "write_eio:3,", "fire:1",
        "write_eio:+", "write_eio:0+", "write_eio:3++", "disk_full:3+",
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
// Faults begin when the tier has been asked to obey it.
class FaultVariableTest : public testing::Test {
 protected:
  ~FaultVariableTest() override { unsetenv(kFaultVariable); }

  static std::unique_ptr<FileTier> MakeTier(const char* faults,
                                            TierError* error) {
    setenv(kFaultVariable, faults, /*replace=*/1);
    std::unique_ptr<FileTier> tier =
        FileTier::Create(testing::TempDir(), 1 << 20, error);
    // No transfer of these counts.
    EXPECT_EQ(Load(Store(*tier, RandomBytes(100, 1))), RandomBytes(100, 1));
    *error = tier->ObeyFaultVariable();
    return tier;
  }
};

TEST_F(FaultVariableTest, PutsFaultsIntoTheTier) {
  TierError error;
  const std::unique_ptr<FileTier> tier = MakeTier("write_eio:2", &error);
  ASSERT_TRUE(error.ok()) << error.message;
  const Bytes source = RandomBytes(4000, 1);  // One write each.
  const StoredBuffer first = Store(*tier, source);
  EXPECT_EQ(TryStore(*tier, source.data(), 4000, &error).tier(), nullptr);
  EXPECT_EQ(error.kind, TierError::Kind::kFailed);
  EXPECT_EQ(Load(Store(*tier, source)), source);
  EXPECT_EQ(Load(first), source);
}

TEST_F(FaultVariableTest, AFaultMayLast) {
  TierError error;
  const std::unique_ptr<FileTier> tier = MakeTier("read_eio:2+", &error);
  ASSERT_TRUE(error.ok()) << error.message;
  const StoredBuffer stored = Store(*tier, RandomBytes(4000, 1));
  EXPECT_EQ(Load(stored), RandomBytes(4000, 1));
  Bytes destination(4000);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(LoadTo(stored, destination.data()).kind,
              TierError::Kind::kFailed);
  }
}

// The disk has it wrong, so reading it again is of no use.
TEST_F(FaultVariableTest, WhatIsWrittenCorruptedStaysCorrupt) {
  TierError error;
  const std::unique_ptr<FileTier> tier = MakeTier("corrupt_write:2", &error);
  ASSERT_TRUE(error.ok()) << error.message;
  const StoredBuffer before = Store(*tier, RandomBytes(4000, 1));
  const StoredBuffer corrupt = Store(*tier, RandomBytes(4000, 2));
  const StoredBuffer after = Store(*tier, RandomBytes(4000, 3));
  EXPECT_EQ(Load(before), RandomBytes(4000, 1));
  EXPECT_EQ(Load(after), RandomBytes(4000, 3));
  Bytes destination(4000);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(LoadTo(corrupt, destination.data()).kind,
              TierError::Kind::kCorrupt);
  }
}

TEST_F(FaultVariableTest, EmptyMeansNone) {
  TierError error;
  const std::unique_ptr<FileTier> tier = MakeTier("", &error);
  ASSERT_TRUE(error.ok()) << error.message;
  EXPECT_EQ(Load(Store(*tier, RandomBytes(100, 1))), RandomBytes(100, 1));
}

TEST_F(FaultVariableTest, ABadValueIsAnError) {
  TierError error;
  MakeTier("write_eio:often", &error);
  EXPECT_EQ(error.kind, TierError::Kind::kFailed);
  for (const char* part : {"SN_TF_FAULT", "'write_eio:often'", "Unset it"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
}

}  // namespace
}  // namespace sn_tf
