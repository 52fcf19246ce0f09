// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/swap_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/pool/fault_injection.h"
#include "tests/cc/tier_copies.h"

namespace sn_tf {
namespace {

constexpr int64_t kBlock = SwapFile::kBlockBytes;
constexpr int64_t kBytes = 8 * kBlock;

// The system's calls, and what they were last given.
class WatchedIo : public FileIo {
 public:
  int64_t SetDirect(int opened) override {
    file = opened;
    return FileIo::SetDirect(opened);
  }

  int file = -1;
};

// A filesystem that knows no unnamed files and no direct transfers.
class OldFilesystemIo : public WatchedIo {
 public:
  int OpenUnnamed(const std::string& /*folder*/) override {
    errno = EOPNOTSUPP;
    return -1;
  }
  int64_t SetDirect(int opened) override {
    file = opened;
    return 0;
  }
  int DropFromCache(int opened, int64_t offset, int64_t bytes) override {
    dropped_bytes += bytes;
    return FileIo::DropFromCache(opened, offset, bytes);
  }

  int64_t dropped_bytes = 0;
};

// Every other call is interrupted by a signal.
class InterruptedIo : public FileIo {
 public:
  int64_t Read(int file, void* destination, int64_t bytes,
               int64_t offset) override {
    if (++calls_ % 2 == 0)
      return FileIo::Read(file, destination, bytes, offset);
    errno = EINTR;
    return -1;
  }
  int64_t Write(int file, const void* source, int64_t bytes,
                int64_t offset) override {
    if (++calls_ % 2 == 0) return FileIo::Write(file, source, bytes, offset);
    errno = EINTR;
    return -1;
  }

 private:
  int calls_ = 0;
};

// Memory for direct transfers.
class AlignedBytes {
 public:
  explicit AlignedBytes(int64_t bytes) : room_(bytes + kBlock), bytes_(bytes) {}

  uint8_t* data() {
    const auto address = reinterpret_cast<uintptr_t>(room_.data());
    return room_.data() + (-address & (kBlock - 1));
  }
  Bytes Copy() { return Bytes(data(), data() + bytes_); }
  void Set(const Bytes& bytes) {
    std::memcpy(data(), bytes.data(), bytes.size());
  }

 private:
  Bytes room_;
  int64_t bytes_;
};

// A folder of its own, so that its entries can be counted.
class SwapFileTest : public testing::Test {
 protected:
  SwapFileTest() {
    std::string pattern = testing::TempDir() + "/swap_file_test_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~SwapFileTest() override { EXPECT_EQ(rmdir(folder_.c_str()), 0); }

  std::unique_ptr<SwapFile> Make(std::unique_ptr<FileIo> io) const {
    TierError error;
    std::unique_ptr<SwapFile> file =
        SwapFile::Create(folder_, std::move(io), &error);
    EXPECT_EQ(error.message, "");
    EXPECT_TRUE(file->GrowTo(kBytes).ok());
    return file;
  }

  std::unique_ptr<SwapFile> MakeFaulty(const char* text) const {
    Faults faults;
    std::string error;
    EXPECT_TRUE(ParseFaults(text, &faults, &error)) << error;
    return Make(std::make_unique<FaultyFileIo>(faults));
  }

  std::vector<std::string> Entries() const {
    std::vector<std::string> names;
    DIR* const folder = opendir(folder_.c_str());
    while (const dirent* const entry = readdir(folder)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    closedir(folder);
    return names;
  }

  // What was written comes back.
  static void ExpectRoundTrip(SwapFile& file, uint32_t seed) {
    AlignedBytes source(kBytes);
    source.Set(RandomBytes(kBytes, seed));
    EXPECT_EQ(file.Write(0, source.data(), kBytes).message, "");
    AlignedBytes destination(kBytes);
    EXPECT_EQ(file.Read(0, destination.data(), kBytes).message, "");
    EXPECT_EQ(destination.Copy(), RandomBytes(kBytes, seed));
  }

  void ExpectPrivate(int file) const {
    struct stat status = {};
    ASSERT_EQ(fstat(file, &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600U);
    EXPECT_EQ(status.st_nlink, 0U);
    EXPECT_NE(fcntl(file, F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(Entries(), std::vector<std::string>());
  }

  std::string folder_;
};

TEST_F(SwapFileTest, HasNoNameAndIsReadByItsOwnerOnly) {
  auto io = std::make_unique<WatchedIo>();
  const WatchedIo& watched = *io;
  const mode_t before = umask(0);
  const std::unique_ptr<SwapFile> file = Make(std::move(io));
  umask(before);
  ExpectPrivate(watched.file);
  EXPECT_EQ((fcntl(watched.file, F_GETFL) & O_DIRECT) != 0, file->direct());
  ExpectRoundTrip(*file, 1);
}

TEST_F(SwapFileTest, OldFilesystemsDoTooAndKeepNothingInTheCache) {
  auto io = std::make_unique<OldFilesystemIo>();
  const OldFilesystemIo& watched = *io;
  const mode_t before = umask(0);
  const std::unique_ptr<SwapFile> file = Make(std::move(io));
  umask(before);
  ExpectPrivate(watched.file);
  EXPECT_FALSE(file->direct());
  EXPECT_EQ(file->memory_alignment(), 1);
  ExpectRoundTrip(*file, 2);
  EXPECT_EQ(watched.dropped_bytes, file->on_ram_disk() ? 0 : 2 * kBytes);
  // At no alignment at all.
  const Bytes source = RandomBytes(kBlock + 1, 3);
  EXPECT_TRUE(file->Write(kBlock, source.data() + 1, kBlock).ok());
  Bytes destination(kBlock + 1);
  EXPECT_TRUE(file->Read(kBlock, destination.data() + 1, kBlock).ok());
  EXPECT_EQ(std::memcmp(destination.data() + 1, source.data() + 1, kBlock), 0);
}

TEST_F(SwapFileTest, AFolderThatIsNoneIsAnError) {
  TierError error;
  EXPECT_EQ(
      SwapFile::Create(folder_ + "/none", std::make_unique<FileIo>(), &error),
      nullptr);
  EXPECT_EQ(error.kind, TierError::Kind::kFailed);
  for (const std::string& part :
       {folder_ + "/none", std::string("No such file or directory"),
        std::string("swap_dir")}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
}

TEST_F(SwapFileTest, OnRamDiskIsWhatTheSystemSays) {
  EXPECT_EQ(Make(std::make_unique<FileIo>())->on_ram_disk(), [this] {
    struct statfs status = {};
    EXPECT_EQ(statfs(folder_.c_str(), &status), 0);
    return status.f_type == TMPFS_MAGIC;
  }());
  struct statfs status = {};
  if (statfs("/dev/shm", &status) != 0 || status.f_type != TMPFS_MAGIC) {
    GTEST_SKIP() << "/dev/shm is no tmpfs here";
  }
  TierError error;
  const std::unique_ptr<SwapFile> file =
      SwapFile::Create("/dev/shm", std::make_unique<FileIo>(), &error);
  ASSERT_NE(file, nullptr) << error.message;
  EXPECT_TRUE(file->on_ram_disk());
  EXPECT_GT(file->available_bytes(), 0);
}

TEST_F(SwapFileTest, ShortTransfersGoOn) {
  for (const char* fault : {"short_write:1", "short_read:1",
                            "short_write:1,short_read:2", "short_read:3"}) {
    const std::unique_ptr<SwapFile> file = MakeFaulty(fault);
    ExpectRoundTrip(*file, 1);
    ExpectRoundTrip(*file, 2);
  }
}

TEST_F(SwapFileTest, InterruptedTransfersAreRepeated) {
  const std::unique_ptr<SwapFile> file =
      Make(std::make_unique<InterruptedIo>());
  ExpectRoundTrip(*file, 1);
}

TEST_F(SwapFileTest, AFailedWriteIsAnErrorAndTheNextIsWell) {
  const std::unique_ptr<SwapFile> file = MakeFaulty("write_eio:1");
  AlignedBytes source(kBytes);
  const TierError error = file->Write(kBlock, source.data(), kBlock);
  EXPECT_EQ(error.kind, TierError::Kind::kFailed);
  for (const std::string& part :
       {folder_, std::string("writing 4.1 kB at offset 4096"),
        std::string("Input/output error"), std::string("dmesg")}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
  }
  ExpectRoundTrip(*file, 1);
}

TEST_F(SwapFileTest, AFailedReadIsAnErrorAndTheNextIsWell) {
  const std::unique_ptr<SwapFile> file = MakeFaulty("read_eio:1");
  AlignedBytes destination(kBytes);
  const TierError error = file->Read(0, destination.data(), kBytes);
  EXPECT_EQ(error.kind, TierError::Kind::kFailed);
  EXPECT_NE(error.message.find("reading 32.8 kB at offset 0"),
            std::string::npos)
      << error.message;
  ExpectRoundTrip(*file, 1);
}

TEST_F(SwapFileTest, AFullDiskIsFull) {
  const std::unique_ptr<SwapFile> file = MakeFaulty("disk_full:16384");
  AlignedBytes source(kBytes);
  const TierError error = file->Write(0, source.data(), kBytes);
  EXPECT_EQ(error.kind, TierError::Kind::kFull);
  EXPECT_NE(error.message.find("No space left on device"), std::string::npos)
      << error.message;
  EXPECT_TRUE(file->Write(0, source.data(), 16384).ok());
}

TEST_F(SwapFileTest, AFileThatEndsEarlyIsAnError) {
  const std::unique_ptr<SwapFile> file = MakeFaulty("end_of_file:1");
  AlignedBytes destination(kBytes);
  const TierError error = file->Read(0, destination.data(), kBytes);
  EXPECT_EQ(error.kind, TierError::Kind::kFailed);
  EXPECT_NE(error.message.find("ended early"), std::string::npos)
      << error.message;
}

// Also where less than a block is left.
TEST_F(SwapFileTest, AFileThatWasCutIsAnError) {
  auto io = std::make_unique<WatchedIo>();
  const WatchedIo& watched = *io;
  const std::unique_ptr<SwapFile> file = Make(std::move(io));
  AlignedBytes destination(kBytes);
  for (const int64_t left : {int64_t{0}, int64_t{512}, 2 * kBlock + 512}) {
    ASSERT_EQ(ftruncate(watched.file, left), 0);
    const TierError error = file->Read(0, destination.data(), kBytes);
    EXPECT_EQ(error.kind, TierError::Kind::kFailed) << left;
  }
}

// Beyond the limit a write would end the process.
TEST_F(SwapFileTest, TheLimitOfFileSizesIsRoom) {
  const std::unique_ptr<SwapFile> file = Make(std::make_unique<FileIo>());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = rlim_t{1} << 30;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const TierError fits = file->GrowTo(int64_t{1} << 30);
  const TierError error = file->GrowTo((int64_t{1} << 30) + 1);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(fits.message, "");
  EXPECT_EQ(error.kind, TierError::Kind::kFull);
  EXPECT_NE(error.message.find("ulimit -f"), std::string::npos)
      << error.message;
}

TEST_F(SwapFileTest, HolesTakeNoRoom) {
  auto io = std::make_unique<WatchedIo>();
  const WatchedIo& watched = *io;
  const std::unique_ptr<SwapFile> file = Make(std::move(io));
  AlignedBytes source(kBytes);
  source.Set(RandomBytes(kBytes, 1));
  ASSERT_TRUE(file->Write(0, source.data(), kBytes).ok());
  const auto allocated_bytes = [&watched] {
    struct stat status = {};
    EXPECT_EQ(fsync(watched.file), 0);
    EXPECT_EQ(fstat(watched.file, &status), 0);
    return int64_t{512} * status.st_blocks;
  };
  const int64_t before = allocated_bytes();
  file->PunchHole(kBlock, 4 * kBlock);
  EXPECT_EQ(allocated_bytes(), before - 4 * kBlock);
  Bytes expected = RandomBytes(kBytes, 1);
  std::memset(expected.data() + kBlock, 0, 4 * kBlock);
  AlignedBytes destination(kBytes);
  EXPECT_TRUE(file->Read(0, destination.data(), kBytes).ok());
  EXPECT_EQ(destination.Copy(), expected);
}

}  // namespace
}  // namespace sn_tf
