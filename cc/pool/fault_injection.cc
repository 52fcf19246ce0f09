// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/fault_injection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <system_error>

namespace sn_tf {
namespace {

struct Kind {
  std::string_view name;
  int64_t Faults::*value;
};

constexpr std::array<Kind, 7> kKinds = {{
    {"write_eio", &Faults::write_eio},
    {"read_eio", &Faults::read_eio},
    {"short_write", &Faults::short_write},
    {"short_read", &Faults::short_read},
    {"end_of_file", &Faults::end_of_file},
    {"corrupt", &Faults::corrupt},
    {"disk_full", &Faults::disk_full},
}};

bool ParseFault(std::string_view text, Faults* faults) {
  const size_t colon = std::min(text.find(':'), text.size());
  const auto* const kind =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& candidate) {
        return candidate.name == text.substr(0, colon);
      });
  if (kind == kKinds.end() || colon == text.size()) return false;
  const char* const end = text.data() + text.size();
  int64_t value = 0;
  const auto [rest, failure] =
      std::from_chars(text.data() + colon + 1, end, value);
  if (failure != std::errc() || rest != end || value < 1) return false;
  faults->*kind->value = value;
  return true;
}

// Half, and at least something, so that whoever goes on comes to an end.
int64_t Half(int64_t bytes) { return std::max(bytes / 2, int64_t{1}); }

int64_t Fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

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
           "'. Expected NAME:NUMBER, or several with commas between, where "
           "the number is at least 1 and the name one of";
  for (const Kind& kind : kKinds) *error += " " + std::string(kind.name);
  *error += ".";
  return false;
}

int64_t FaultyFileIo::Read(int file, void* destination, int64_t bytes,
                           int64_t offset) {
  const int64_t index = ++reads_;
  if (index == faults_.read_eio) return Fail(EIO);
  if (index == faults_.end_of_file) return 0;
  const int64_t read = FileIo::Read(file, destination, bytes, offset);
  if (index == faults_.short_read && read > 0) return Half(read);
  if (index == faults_.corrupt && read > 0) {
    static_cast<unsigned char*>(destination)[0] ^= 1;
  }
  return read;
}

int64_t FaultyFileIo::Write(int file, const void* source, int64_t bytes,
                            int64_t offset) {
  const int64_t index = ++writes_;
  if (index == faults_.write_eio) return Fail(EIO);
  if (faults_.disk_full > 0 && offset + bytes > faults_.disk_full) {
    return Fail(ENOSPC);
  }
  if (index == faults_.short_write) bytes = Half(bytes);
  return FileIo::Write(file, source, bytes, offset);
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
