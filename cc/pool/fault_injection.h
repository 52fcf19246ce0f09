// SPDX-License-Identifier: Apache-2.0
//
// Faults of disks, for tests. The variable SN_TF_FAULT puts them into a running
// process: "write_eio:3", or several, "disk_full:1000000,read_eio:1".
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

// Reads and writes are counted from 1, each on its own; 0: no such fault. One
// call goes wrong, and those after it are well.
struct Faults {
  int64_t write_eio = 0;    // This write fails with EIO.
  int64_t read_eio = 0;     // This read does.
  int64_t short_write = 0;  // This write writes half of what it was given.
  int64_t short_read = 0;   // This read reads half of what it was asked for.
  int64_t end_of_file = 0;  // This read finds the end of the file.
  int64_t corrupt = 0;      // What this read returns has one bit wrong.
  int64_t disk_full = 0;    // No write gets beyond so many bytes of the file.
};

// Reads "name:number", or several with commas between. False, and a message in
// `*error`, where `text` is nothing such.
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
  const Faults faults_;
  std::atomic<int64_t> reads_{0};
  std::atomic<int64_t> writes_{0};
};

// The system's calls, with the faults that SN_TF_FAULT names. nullptr, and a
// message in `*error`, where it names none that there is.
std::unique_ptr<FileIo> FileIoFromEnvironment(std::string* error);

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_FAULT_INJECTION_H_
