// SPDX-License-Identifier: Apache-2.0
#include "cc/core/sink_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace sn_tf {

SinkMemory::SinkMemory() : file_(memfd_create("sn_tf_sink", MFD_CLOEXEC)) {
  if (file_ >= 0 && ftruncate(file_, kBytes) != 0) {
    close(file_);
    file_ = -1;
  }
}

SinkMemory::~SinkMemory() {
  if (file_ >= 0) close(file_);
}

AlignedMapping SinkMemory::Map(int64_t bytes) const {
  if (file_ < 0) return AlignedMapping();
  AlignedMapping range(bytes);
  if (range.base() == nullptr) return AlignedMapping();
  for (int64_t offset = 0; offset < bytes; offset += kBytes) {
    const int64_t piece = std::min(kBytes, bytes - offset);
    void* const mapped =
        mmap(range.base() + offset, static_cast<size_t>(piece),
             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, 0);
    if (mapped == MAP_FAILED) return AlignedMapping();
  }
  return range;
}

}  // namespace sn_tf
