// SPDX-License-Identifier: Apache-2.0
#include "cc/core/sink_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace sn_tf {
namespace {

// Of the memory that is mapped again and again; also what base() is aligned
// to.
constexpr int64_t kLeastPieceBytes = int64_t{2} << 20;

// A process may have some 65,000 mappings.
constexpr int64_t kMostPieces = 4096;

int64_t RoundUp(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Maps the file of `piece` bytes over all of [base, base + bytes).
bool MapOverAll(int file, char* base, int64_t bytes, int64_t piece) {
  for (int64_t offset = 0; offset < bytes; offset += piece) {
    void* const mapped =
        mmap(base + offset, static_cast<size_t>(piece), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, file, 0);
    if (mapped == MAP_FAILED) return false;
  }
  return true;
}

}  // namespace

SinkRange::SinkRange(int64_t bytes) {
  const int64_t piece = RoundUp(std::max(kLeastPieceBytes, bytes / kMostPieces),
                                kLeastPieceBytes);
  bytes_ = RoundUp(std::max<int64_t>(bytes, 1), piece);
  mapping_bytes_ = bytes_ + kLeastPieceBytes;
  void* const mapping =
      mmap(nullptr, static_cast<size_t>(mapping_bytes_), PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return;
  mapping_ = mapping;
  const auto address = reinterpret_cast<uintptr_t>(mapping);
  const uintptr_t alignment = kLeastPieceBytes;
  char* const base = static_cast<char*>(mapping) + (-address & (alignment - 1));
  const int file = memfd_create("sn_tf_sink", MFD_CLOEXEC);
  if (file < 0) return;
  if (ftruncate(file, piece) == 0 && MapOverAll(file, base, bytes_, piece)) {
    base_ = base;
  }
  close(file);
}

SinkRange::~SinkRange() {
  if (mapping_ != nullptr) {
    munmap(mapping_, static_cast<size_t>(mapping_bytes_));
  }
}

}  // namespace sn_tf
