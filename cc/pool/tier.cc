// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/tier.h"

#include <utility>

namespace sn_tf {

StoredBuffer::StoredBuffer(StoredBuffer&& other) noexcept
    : tier_(std::exchange(other.tier_, nullptr)),
      location_(std::exchange(other.location_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

StoredBuffer& StoredBuffer::operator=(StoredBuffer&& other) noexcept {
  // What was held here goes at the end of `old`, also in a self-move.
  StoredBuffer old(std::move(other));
  std::swap(tier_, old.tier_);
  std::swap(location_, old.location_);
  std::swap(bytes_, old.bytes_);
  return *this;
}

StoredBuffer::~StoredBuffer() {
  if (tier_ != nullptr) tier_->Free(location_);
}

}  // namespace sn_tf
