// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/swap_file.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cc/core/bytes.h"

namespace sn_tf {
namespace {

// Growing is a system call under a lock; sizes cost nothing.
constexpr int64_t kGrowthBytes = int64_t{256} << 20;

// Transfers in a row that may move less than a block.
constexpr int kMostFruitless = 3;

bool IsRamDisk(int file) {
  struct statfs status;
  if (fstatfs(file, &status) != 0) return false;
  // Fields of this type are signed on some machines.
  const auto type = static_cast<uint32_t>(status.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

bool MeansFull(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

// To write past this limit would end the process by a signal.
int64_t LargestFileBytes() {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return INT64_MAX;
  return static_cast<int64_t>(
      std::min<rlim_t>(limit.rlim_cur, rlim_t{INT64_MAX}));
}

int Open(FileIo& io, const std::string& folder) {
  const int file = io.OpenUnnamed(folder);
  if (file >= 0) return file;
  // What filesystems answer that know no unnamed files, each in its way; what
  // else is wrong goes wrong once more.
  return io.OpenUnlinked(folder);
}

}  // namespace

std::unique_ptr<SwapFile> SwapFile::Create(const std::string& folder,
                                           std::unique_ptr<FileIo> io,
                                           TierError* error) {
  const int file = Open(*io, folder);
  if (file < 0) {
    *error = TierError(
        MeansFull(errno) ? TierError::Kind::kFull : TierError::Kind::kFailed,
        "No swap file can be made in '" + folder +
            "': " + std::strerror(errno) +
            ". Give a folder that exists, on a local disk, in "
            "which this process may write (swap_dir).");
    return nullptr;
  }
  return std::unique_ptr<SwapFile>(new SwapFile(folder, std::move(io), file));
}

SwapFile::SwapFile(std::string folder, std::unique_ptr<FileIo> io, int file)
    : folder_(std::move(folder)),
      io_(std::move(io)),
      file_(file),
      on_ram_disk_(IsRamDisk(file)),
      direct_alignment_(io_->SetDirect(file)),
      direct_(direct_alignment_ > 0),
      memory_alignment_(std::max(direct_alignment_, int64_t{1})) {}

SwapFile::~SwapFile() { close(file_); }

int64_t SwapFile::available_bytes() const {
  struct statfs status;
  if (fstatfs(file_, &status) != 0) return 0;
  return static_cast<int64_t>(status.f_bavail) *
         static_cast<int64_t>(status.f_bsize);
}

TierError SwapFile::GrowTo(int64_t bytes) {
  // The last block is read and written whole.
  bytes = (bytes + kBlockBytes - 1) & -kBlockBytes;
  std::lock_guard<std::mutex> lock(mutex_);
  if (bytes <= size_bytes_) return TierError();
  const int64_t largest = LargestFileBytes();
  if (bytes > largest) {
    return TierError(TierError::Kind::kFull,
                     "The swap file in '" + folder_ + "' cannot grow to " +
                         FormatBytes(bytes) +
                         ": the process's limit of file sizes is " +
                         FormatBytes(largest) + ". Raise it (ulimit -f).");
  }
  const int64_t size = std::min(bytes + kGrowthBytes, largest);
  if (io_->Resize(file_, size) != 0) return ErrnoError("growing to", 0, size);
  size_bytes_ = size;
  return TierError();
}

TierError SwapFile::Write(int64_t offset, const void* source, int64_t bytes) {
  const auto* const from = static_cast<const char*>(source);
  const int64_t done = TransferAll(bytes, [&](int64_t at) {
    return io_->Write(file_, from + at, bytes - at, offset + at);
  });
  if (done == bytes) return DropFromCache(offset, bytes);
  // A write of nothing, without a reason: there is room for nothing.
  if (errno == 0) errno = ENOSPC;
  return ErrnoError("writing", offset + done, bytes - done);
}

TierError SwapFile::Read(int64_t offset, void* destination, int64_t bytes) {
  auto* const to = static_cast<char*>(destination);
  const int64_t done = TransferAll(bytes, [&](int64_t at) {
    return io_->Read(file_, to + at, bytes - at, offset + at);
  });
  if (done == bytes) return DropFromCache(offset, bytes);
  if (errno != 0) return ErrnoError("reading", offset + done, bytes - done);
  return TierError(TierError::Kind::kFailed,
                   "The swap file in '" + folder_ + "' ended early: of " +
                       FormatBytes(bytes) + " at offset " +
                       std::to_string(offset) + " only " + FormatBytes(done) +
                       " came. Give another folder (swap_dir), or train "
                       "without the file tier.");
}

class SwapFile::Mapping : public StoredView {
 public:
  Mapping(SwapFile* file, void* address, int64_t offset, int64_t bytes)
      : file_(file), address_(address), offset_(offset), bytes_(bytes) {}

  ~Mapping() override {
    munmap(address_, static_cast<size_t>(bytes_));
    // Where that fails, the pages are the system's to drop.
    (void)file_->io_->DropFromCache(file_->file_, offset_, bytes_);
  }

  const void* data() const override { return address_; }

 private:
  SwapFile* const file_;
  void* const address_;
  const int64_t offset_;
  const int64_t bytes_;
};

std::unique_ptr<StoredView> SwapFile::Map(int64_t offset, int64_t bytes) {
  void* const address = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ,
                             MAP_SHARED, file_, offset);
  if (address == MAP_FAILED) return nullptr;
  return std::make_unique<Mapping>(this, address, offset, bytes);
}

void SwapFile::PunchHole(int64_t offset, int64_t bytes) {
  // Where it cannot be done, the room is used again all the same.
  (void)io_->PunchHole(file_, offset, bytes);
}

int64_t SwapFile::TransferAll(
    int64_t bytes, const std::function<int64_t(int64_t done)>& transfer) const {
  int64_t done = 0;
  int fruitless = 0;
  while (done < bytes) {
    const int64_t moved = transfer(done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return done;
    // After a short one, a direct transfer goes on at a block.
    const bool rest = direct_ && moved < bytes - done;
    const int64_t counted = rest ? moved & -kBlockBytes : moved;
    if (moved == 0 || (counted == 0 && ++fruitless == kMostFruitless)) {
      errno = 0;
      return done;
    }
    done += counted;
  }
  return done;
}

TierError SwapFile::DropFromCache(int64_t offset, int64_t bytes) {
  if (direct_ || on_ram_disk_ || bytes == 0) return TierError();
  if (io_->DropFromCache(file_, offset, bytes) == 0) return TierError();
  return ErrnoError("writing back", offset, bytes);
}

TierError SwapFile::ErrnoError(const char* verb, int64_t offset,
                               int64_t bytes) const {
  const int error = errno;
  const std::string what = "The swap file in '" + folder_ + "': " + verb + " " +
                           FormatBytes(bytes) + " at offset " +
                           std::to_string(offset) +
                           " failed: " + std::strerror(error) + ". ";
  if (MeansFull(error)) {
    return TierError(TierError::Kind::kFull,
                     what + "Free room on that disk (" +
                         FormatBytes(available_bytes()) +
                         " are left), give another folder (swap_dir), or "
                         "raise the budget, so that less is swapped out.");
  }
  return TierError(TierError::Kind::kFailed,
                   what +
                       "Look for errors of the disk (dmesg), give another "
                       "folder (swap_dir), or train without the file tier.");
}

}  // namespace sn_tf
