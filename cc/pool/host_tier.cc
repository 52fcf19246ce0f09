// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/host_tier.h"

#include <utility>

#include "cc/pool/chunked_copy.h"

namespace sn_tf {

class HostTier::Write : public TierWrite {
 public:
  Write(HostTier* tier, SharedArena::Block block, const void* source,
        int64_t bytes)
      : tier_(tier),
        block_(std::move(block)),
        bytes_(bytes),
        copy_(tier->memory_.At(block_), source, bytes) {}

  Progress CopyChunk(TierError* /*error*/) override {
    return copy_.CopyChunk();
  }

  StoredBuffer Take() override {
    const int64_t location =
        tier_->records_.Add(Record{std::move(block_), bytes_});
    return StoredBuffer(tier_, location, bytes_);
  }

 private:
  HostTier* const tier_;
  SharedArena::Block block_;
  const int64_t bytes_;
  ChunkedCopy copy_;
};

class HostTier::Read : public TierCopy {
 public:
  explicit Read(const ChunkedCopy& copy) : copy_(copy) {}

  Progress CopyChunk(TierError* /*error*/) override {
    return copy_.CopyChunk();
  }

 private:
  ChunkedCopy copy_;
};

class HostTier::InPlace : public StoredView {
 public:
  explicit InPlace(const void* data) : data_(data) {}

  const void* data() const override { return data_; }

 private:
  const void* const data_;
};

std::unique_ptr<StoredView> HostTier::View(const StoredBuffer& stored) {
  return std::make_unique<InPlace>(
      memory_.At(records_.Get(stored.location()).block));
}

std::unique_ptr<TierWrite> HostTier::BeginWrite(const void* source,
                                                int64_t bytes,
                                                TierError* error) {
  SharedArena::Block block = memory_.Allocate(bytes);
  if (!block) {
    *error = memory_.Refusal(bytes);
    return nullptr;
  }
  return std::make_unique<Write>(this, std::move(block), source, bytes);
}

std::unique_ptr<TierCopy> HostTier::BeginRead(const StoredBuffer& stored,
                                              void* destination) {
  const Record& record = records_.Get(stored.location());
  return std::make_unique<Read>(
      ChunkedCopy(destination, memory_.At(record.block), record.bytes));
}

TierUsage HostTier::usage() const {
  TierUsage usage;
  usage.limit_bytes = memory_.limit_bytes();
  usage.taken_bytes = memory_.in_use_bytes();
  usage.stored_bytes = records_.stored_bytes();
  return usage;
}

}  // namespace sn_tf
