// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/file_io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace sn_tf {
namespace {

// What every filesystem takes that takes unbuffered transfers at all.
constexpr int64_t kSafeAlignmentBytes = 4096;

bool SetDirectFlag(int file, bool on) {
  const int flags = fcntl(file, F_GETFL);
  if (flags < 0) return false;
  const int wanted = on ? flags | O_DIRECT : flags & ~O_DIRECT;
  return fcntl(file, F_SETFL, wanted) == 0;
}

// What the filesystem says, or where it says nothing what is safe. 0: none.
int64_t DirectMemoryAlignment(int file) {
#ifdef STATX_DIOALIGN
  struct statx status = {};
  if (statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0) {
    if (status.stx_dio_mem_align > kSafeAlignmentBytes ||
        status.stx_dio_offset_align > kSafeAlignmentBytes) {
      return 0;
    }
    return status.stx_dio_mem_align;
  }
#endif
  (void)file;
  return kSafeAlignmentBytes;
}

}  // namespace

int FileIo::OpenUnnamed(const std::string& folder) {
  return open(folder.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
}

int FileIo::OpenUnlinked(const std::string& folder) {
  std::string path = folder + "/sn_tf_swap_XXXXXX";
  const int file = mkostemp(path.data(), O_CLOEXEC);  // Of mode 0600.
  if (file >= 0) unlink(path.c_str());
  return file;
}

int64_t FileIo::SetDirect(int file) {
  if (!SetDirectFlag(file, true)) return 0;
  const int64_t alignment = DirectMemoryAlignment(file);
  // Some filesystems take the flag and refuse the transfers.
  alignas(
      kSafeAlignmentBytes) static const char kBlock[kSafeAlignmentBytes] = {};
  const bool refused =
      pwrite(file, kBlock, sizeof(kBlock), 0) < 0 && errno == EINVAL;
  if (alignment > 0 && !refused) return alignment;
  SetDirectFlag(file, false);
  return 0;
}

int64_t FileIo::Read(int file, void* destination, int64_t bytes,
                     int64_t offset) {
  return pread(file, destination, static_cast<size_t>(bytes), offset);
}

int64_t FileIo::Write(int file, const void* source, int64_t bytes,
                      int64_t offset) {
  return pwrite(file, source, static_cast<size_t>(bytes), offset);
}

int FileIo::Resize(int file, int64_t bytes) { return ftruncate(file, bytes); }

int FileIo::PunchHole(int file, int64_t offset, int64_t bytes) {
  return fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset,
                   bytes);
}

int FileIo::DropFromCache(int file, int64_t offset, int64_t bytes) {
  const int result =
      sync_file_range(file, offset, bytes,
                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                          SYNC_FILE_RANGE_WAIT_AFTER);
  // Only advice: what stays in the cache is correct too.
  posix_fadvise(file, offset, bytes, POSIX_FADV_DONTNEED);
  return result;
}

}  // namespace sn_tf
