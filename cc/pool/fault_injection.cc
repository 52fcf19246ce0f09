// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/fault_injection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <system_error>

#include "cc/core/aligned_mapping.h"

namespace sn_tf {
namespace {

struct Kind {
  std::string_view name;
  FaultyCalls Faults::*calls;
};

constexpr std::string_view kDiskFull = "disk_full";

constexpr std::array<Kind, 7> kKinds = {{
    {"write_eio", &Faults::write_eio},
    {"read_eio", &Faults::read_eio},
    {"short_write", &Faults::short_write},
    {"short_read", &Faults::short_read},
    {"end_of_file", &Faults::end_of_file},
    {"corrupt", &Faults::corrupt},
    {"corrupt_write", &Faults::corrupt_write},
}};

bool ParseNumber(std::string_view text, int64_t* number) {
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, *number);
  return failure == std::errc() && rest == end && *number >= 1;
}

bool ParseFault(std::string_view text, Faults* faults) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view name = text.substr(0, colon);
  std::string_view number = text.substr(colon + 1);
  if (name == kDiskFull) return ParseNumber(number, &faults->disk_full);
  const auto* const kind =
      std::find_if(kKinds.begin(), kKinds.end(),
                   [&](const Kind& known) { return known.name == name; });
  if (kind == kKinds.end()) return false;
  const bool lasts = !number.empty() && number.back() == '+';
  if (lasts) number.remove_suffix(1);
  int64_t call = 0;
  if (!ParseNumber(number, &call)) return false;
  faults->*kind->calls = lasts ? CallsFrom(call) : OneCall(call);
  return true;
}

// Half, and at least something, so that whoever goes on comes to an end.
int64_t Half(int64_t bytes) { return std::max(bytes / 2, int64_t{1}); }

int64_t Fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

FaultyCalls OneCall(int64_t call) { return {call, call}; }

FaultyCalls CallsFrom(int64_t first) {
  return {first, std::numeric_limits<int64_t>::max()};
}

bool ParseFaults(std::string_view text, Faults* faults, std::string* error) {
  Faults parsed;
  for (std::string_view rest = text;;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    if (!ParseFault(rest.substr(0, comma), &parsed)) break;
    if (comma == rest.size()) {
      *faults = parsed;
      return true;
    }
    rest.remove_prefix(comma + 1);
  }
  *error = "Invalid faults. Received: '" + std::string(text) +
           "'. Expected NAME:NUMBER, NAME:NUMBER+ (from there on), or several "
           "with commas between, where the number is at least 1 and the name "
           "one of";
  for (const Kind& kind : kKinds) *error += " " + std::string(kind.name);
  *error += ", or " + std::string(kDiskFull) + ":BYTES.";
  return false;
}

int64_t FaultyFileIo::Read(int file, void* destination, int64_t bytes,
                           int64_t offset) {
  const int64_t index = ++reads_;
  if (faults_.read_eio.Include(index)) return Fail(EIO);
  if (faults_.end_of_file.Include(index)) return 0;
  const int64_t read = FileIo::Read(file, destination, bytes, offset);
  if (faults_.short_read.Include(index) && read > 0) return Half(read);
  if (faults_.corrupt.Include(index) && read > 0) {
    static_cast<unsigned char*>(destination)[0] ^= 1;
  }
  return read;
}

int64_t FaultyFileIo::Write(int file, const void* source, int64_t bytes,
                            int64_t offset) {
  const int64_t index = ++writes_;
  if (faults_.write_eio.Include(index)) return Fail(EIO);
  if (faults_.disk_full > 0 && offset + bytes > faults_.disk_full) {
    return Fail(ENOSPC);
  }
  if (faults_.short_write.Include(index)) bytes = Half(bytes);
  if (faults_.corrupt_write.Include(index)) {
    return WriteCorrupted(file, source, bytes, offset);
  }
  return FileIo::Write(file, source, bytes, offset);
}

int64_t FaultyFileIo::WriteCorrupted(int file, const void* source,
                                     int64_t bytes, int64_t offset) {
  // Its address is good for a direct transfer, as that of `source` is.
  const AlignedMapping copy(bytes);
  if (copy.base() == nullptr) return Fail(ENOMEM);
  std::memcpy(copy.base(), source, bytes);
  copy.base()[0] ^= 1;
  return FileIo::Write(file, copy.base(), bytes, offset);
}

std::unique_ptr<FileIo> FileIoFromEnvironment(std::string* error) {
  const char* const text = std::getenv(kFaultVariable);
  if (text == nullptr || *text == '\0') return std::make_unique<FileIo>();
  Faults faults;
  std::string why;
  if (!ParseFaults(text, &faults, &why)) {
    *error = "The environment variable " + std::string(kFaultVariable) +
             " puts faults into the file tier, for tests. " + why +
             " Unset it to run without.";
    return nullptr;
  }
  return std::make_unique<FaultyFileIo>(faults);
}

}  // namespace sn_tf
