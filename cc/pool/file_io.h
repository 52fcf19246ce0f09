// SPDX-License-Identifier: Apache-2.0
//
// The system calls that a swap file needs, in one place, so that faults can be
// put between (see fault_injection.h).
#ifndef SN_TF_CC_POOL_FILE_IO_H_
#define SN_TF_CC_POOL_FILE_IO_H_

#include <cstdint>
#include <string>

namespace sn_tf {

// The system's. Results are those of the system calls: -1, and errno.
// Thread-safe.
class FileIo {
 public:
  virtual ~FileIo() = default;

  // A new file in `folder`, readable and writable by its owner only, that never
  // has a name. Not every filesystem can.
  virtual int OpenUnnamed(const std::string& folder);

  // The same on any filesystem: the file has a name for a moment.
  virtual int OpenUnlinked(const std::string& folder);

  // Makes reads and writes of `file`, which is empty, go past the page cache.
  // Returns what the addresses of memory must then be multiples of, or 0 where
  // the filesystem does not take it.
  virtual int64_t SetDirect(int file);

  virtual int64_t Read(int file, void* destination, int64_t bytes,
                       int64_t offset);
  virtual int64_t Write(int file, const void* source, int64_t bytes,
                        int64_t offset);
  virtual int Resize(int file, int64_t bytes);
  virtual int PunchHole(int file, int64_t offset, int64_t bytes);

  // Writes to the disk what of the range is in the page cache only, and drops
  // it from there.
  virtual int DropFromCache(int file, int64_t offset, int64_t bytes);
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_FILE_IO_H_
