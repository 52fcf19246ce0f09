// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_SWAP_FILE_H_
#define SN_TF_CC_POOL_SWAP_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "cc/pool/file_io.h"
#include "cc/pool/tier.h"
#include "cc/pool/tier_error.h"

namespace sn_tf {

// A temporary file that has no name, so that it ends with the process however
// that ends, and that nobody else can read. Its offsets are written and read
// past the page cache: what is swapped out must not take memory there.
// Thread-safe for ranges that do not overlap.
class SwapFile {
 public:
  // What offsets and sizes of transfers are multiples of.
  static constexpr int64_t kBlockBytes = 4096;

  // A new file in `folder`. nullptr, and `*error`, where there can be none.
  static std::unique_ptr<SwapFile> Create(const std::string& folder,
                                          std::unique_ptr<FileIo> io,
                                          TierError* error);
  ~SwapFile();
  SwapFile(const SwapFile&) = delete;
  SwapFile& operator=(const SwapFile&) = delete;

  // Transfers go through `io` from here on; before any other thread makes one.
  void SetIo(std::unique_ptr<FileIo> io) { io_ = std::move(io); }

  const std::string& folder() const { return folder_; }

  // Whether transfers go straight between memory and disk (O_DIRECT). Where the
  // filesystem does not do that, the page cache is emptied after each.
  bool direct() const { return direct_; }

  // Whether the folder is a RAM disk, so that swapping out saves no memory.
  bool on_ram_disk() const { return on_ram_disk_; }

  // What addresses of memory in transfers must be multiples of.
  int64_t memory_alignment() const { return memory_alignment_; }

  // Room that the filesystem has left.
  int64_t available_bytes() const;

  // Makes the file at least so long; takes no room on the disk.
  TierError GrowTo(int64_t bytes);

  // All of it, or an error: kFull where the disk has no room, else kFailed.
  TierError Write(int64_t offset, const void* source, int64_t bytes);
  TierError Read(int64_t offset, void* destination, int64_t bytes);

  // The range, which has been written, as memory to be read, in the place of
  // which nothing may be written meanwhile. Takes memory only as it is read, of
  // the page cache: the system has that back whenever it needs it, and all of
  // it when the view ends. Where the disk fails then, the process ends
  // (SIGBUS). nullptr where the system refuses.
  std::unique_ptr<StoredView> Map(int64_t offset, int64_t bytes);

  // Gives the range's room on the disk back, where the filesystem can. It then
  // reads as zero.
  void PunchHole(int64_t offset, int64_t bytes);

 private:
  class Mapping;

  SwapFile(std::string folder, std::unique_ptr<FileIo> io, int file);

  TierError ErrnoError(const char* verb, int64_t offset, int64_t bytes) const;
  // Calls `transfer`, which moves what it can of what is not yet done, until
  // all is. Returns what was done: less than `bytes` where a call failed, with
  // its errno, or moved nothing, with 0.
  int64_t TransferAll(
      int64_t bytes,
      const std::function<int64_t(int64_t done)>& transfer) const;
  TierError DropFromCache(int64_t offset, int64_t bytes);

  const std::string folder_;
  std::unique_ptr<FileIo> io_;
  const int file_;
  const bool on_ram_disk_;
  const int64_t direct_alignment_;  // 0: not direct.
  const bool direct_;
  const int64_t memory_alignment_;
  std::mutex mutex_;
  int64_t size_bytes_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_SWAP_FILE_H_
