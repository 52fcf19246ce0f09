// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/host_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "cc/core/address_range.h"

namespace sn_tf {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

int64_t ResidentSetBytes() {
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * AddressRange::PageBytes();
}

TEST(HostMemoryTest, PagesStayWarmUntilTheyAreReleased) {
  HostMemory memory("host", 256 * kMiB);
  const SharedArena::Block before = memory.Allocate(5000);
  SharedArena::Block freed = memory.Allocate(64 * kMiB);
  const SharedArena::Block after = memory.Allocate(5000);
  std::memset(memory.At(before), 1, 5000);
  std::memset(memory.At(freed), 2, 64 * kMiB);
  std::memset(memory.At(after), 3, 5000);
  const int64_t full = ResidentSetBytes();
  freed = SharedArena::Block();
  EXPECT_EQ(memory.in_use_bytes(), 2 * 5056);
  EXPECT_GT(ResidentSetBytes(), full - 8 * kMiB);
  memory.ReleaseFree();
  EXPECT_LT(ResidentSetBytes(), full - 56 * kMiB);
  EXPECT_EQ(memory.At(before)[4999], 1);
  EXPECT_EQ(memory.At(after)[0], 3);
  EXPECT_EQ(memory.At(after)[4999], 3);
}

TEST(HostMemoryTest, WithoutALimitItIsAllOfTheMachines) {
  const HostMemory memory("host", 0);
  EXPECT_GE(memory.limit_bytes(), AddressRange::PhysicalMemoryBytes());
}

// More than a process has addresses for.
TEST(HostMemoryTest, ALimitOfAddressesIsNamed) {
  const HostMemory memory("host", int64_t{1} << 59);
  EXPECT_LT(memory.limit_bytes(), int64_t{1} << 59);
  const TierError error = memory.Refusal(3 * kMiB);
  EXPECT_EQ(error.kind, TierError::Kind::kFull);
  for (const char* part : {"no room for a buffer of 3.1 MB", "ulimit -v"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
}

}  // namespace
}  // namespace sn_tf
