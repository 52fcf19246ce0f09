// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/host_tier.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/bytes.h"
#include "cc/pool/stream_copy.h"

namespace sn_tf {

HostTier::HostTier(Link* link, int64_t range_bytes)
    : link_(link),
      range_(range_bytes, /*least_bytes=*/1),
      arena_(range_.bytes()) {}

void HostTier::Store(const void* source, int64_t bytes, StoreDone done) {
  int64_t offset;
  int64_t in_use;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    offset = arena_.Allocate(bytes);
    while (offset == Arena::kNoOffset && releases_ > 0) {
      // What another thread holds is free, and back in a moment.
      released_.wait(lock);
      offset = arena_.Allocate(bytes);
    }
    in_use = arena_.in_use_bytes();
  }
  if (offset == Arena::kNoOffset) {
    done(StoredBuffer(),
         "The host tier has no room for a buffer of " + FormatBytes(bytes) +
             ": " + FormatBytes(in_use) + " of its " +
             FormatBytes(range_.bytes()) +
             " of addresses are in use. Raise the process's limit of address "
             "space (ulimit -v), or the budget, so that less is swapped out.");
    return;
  }
  char* const block = range_.base() + offset;
  Transfer transfer;
  transfer.bytes = bytes;
  transfer.copy = [block, source, bytes] {
    StreamCopy(block, source, bytes);
    return std::string();
  };
  transfer.done = [this, offset, bytes,
                   done = std::move(done)](const std::string& error) {
    done(StoredBuffer(this, offset, bytes), error);
  };
  link_->out.Push(std::move(transfer));
}

void HostTier::Load(const StoredBuffer& stored, void* destination,
                    LoadDone done) {
  const char* const block = range_.base() + stored.location();
  Transfer transfer;
  transfer.bytes = stored.bytes();
  transfer.copy = [destination, block, bytes = stored.bytes()] {
    StreamCopy(destination, block, bytes);
    return std::string();
  };
  transfer.done = std::move(done);
  link_->in.Push(std::move(transfer));
}

int64_t HostTier::in_use_bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return arena_.in_use_bytes();
}

void HostTier::ReleaseFreePages() {
  std::vector<Arena::FreeRange> free_ranges;
  int64_t touched_bytes;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    free_ranges = arena_.FreeRanges(AddressRange::PageBytes());
    for (const Arena::FreeRange& range : free_ranges) arena_.Hold(range);
    ++releases_;
    touched_bytes = arena_.stats().high_water_bytes;
  }
  // Held, no block can be placed there while the system takes the pages.
  for (const Arena::FreeRange& range : free_ranges) {
    const int64_t end = std::min(range.offset + range.bytes, touched_bytes);
    if (end > range.offset) range_.Decommit(range.offset, end - range.offset);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (const Arena::FreeRange& range : free_ranges) arena_.Release(range);
  --releases_;
  released_.notify_all();
}

void HostTier::Free(int64_t location) {
  std::lock_guard<std::mutex> lock(mutex_);
  arena_.Free(location);
}

}  // namespace sn_tf
