// SPDX-License-Identifier: Apache-2.0
//
// Faults of disks, for tests. The variable SN_TF_FAULT puts them into a running
// process: "write_eio:3" into the third write, "read_eio:3+" into every read
// from the third on, or several, "disk_full:1000000,read_eio:1".
#ifndef SN_TF_CC_POOL_FAULT_INJECTION_H_
#define SN_TF_CC_POOL_FAULT_INJECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cc/pool/file_io.h"

namespace sn_tf {

inline constexpr const char* kFaultVariable = "SN_TF_FAULT";

// Calls that go wrong: from the first to the last, counted from 1; by default
// none. The others are well.
struct FaultyCalls {
  int64_t first = 0;
  int64_t last = 0;

  bool Include(int64_t call) const { return first <= call && call <= last; }
  bool operator==(const FaultyCalls& other) const {
    return first == other.first && last == other.last;
  }
};

FaultyCalls OneCall(int64_t call);
FaultyCalls CallsFrom(int64_t first);

// Reads and writes are counted each on their own.
struct Faults {
  FaultyCalls write_eio;      // These writes fail with EIO.
  FaultyCalls read_eio;       // These reads do.
  FaultyCalls short_write;    // They write half of what they were given.
  FaultyCalls short_read;     // They read half of what they were asked for.
  FaultyCalls end_of_file;    // These reads find the end of the file.
  FaultyCalls corrupt;        // What these reads return has one bit wrong.
  FaultyCalls corrupt_write;  // What these write has one bit wrong.
  int64_t disk_full = 0;      // No write gets beyond so many bytes of the file.
};

// Reads "name:number" or "name:number+", or several with commas between. False,
// and a message in `*error`, where `text` is nothing such.
bool ParseFaults(std::string_view text, Faults* faults, std::string* error);

// The system's calls, with `faults`.
class FaultyFileIo : public FileIo {
 public:
  explicit FaultyFileIo(const Faults& faults) : faults_(faults) {}

  int64_t Read(int file, void* destination, int64_t bytes,
               int64_t offset) override;
  int64_t Write(int file, const void* source, int64_t bytes,
                int64_t offset) override;

 private:
  // What it is given, but for one bit.
  int64_t WriteCorrupted(int file, const void* source, int64_t bytes,
                         int64_t offset);

  const Faults faults_;
  std::atomic<int64_t> reads_{0};
  std::atomic<int64_t> writes_{0};
};

// The system's calls, with the faults that SN_TF_FAULT names. nullptr, and a
// message in `*error`, where it names none that there is.
std::unique_ptr<FileIo> FileIoFromEnvironment(std::string* error);

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_FAULT_INJECTION_H_
