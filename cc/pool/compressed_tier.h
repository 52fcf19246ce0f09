// SPDX-License-Identifier: Apache-2.0
//
// The tier of packed buffers in host memory.
#ifndef SN_TF_CC_POOL_COMPRESSED_TIER_H_
#define SN_TF_CC_POOL_COMPRESSED_TIER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cc/pool/host_memory.h"
#include "cc/pool/shared_arena.h"
#include "cc/pool/stored_records.h"
#include "cc/pool/tier.h"

namespace sn_tf {

// Lossless. Buffers are stored in pieces; a piece that packing (see
// zero_packing.h) does not make clearly smaller is stored as it is. So
// usage().taken_bytes over stored_bytes is the ratio reached.
class CompressedTier : public Tier {
 public:
  // Of packed bytes; 0: as much as the system allows.
  explicit CompressedTier(int64_t limit_bytes) : memory_(kName, limit_bytes) {}

  const char* name() const override { return kName; }
  std::unique_ptr<TierWrite> BeginWrite(const void* source, int64_t bytes,
                                        TierError* error) override;
  std::unique_ptr<TierCopy> BeginRead(const StoredBuffer& stored,
                                      void* destination) override;
  TierUsage usage() const override;
  int64_t TakenBy(const StoredBuffer& stored) const override;
  void ReleaseFreeSpace() override { memory_.ReleaseFree(); }

 private:
  class Write;
  class Read;

  struct Piece {
    SharedArena::Block block;
    int64_t bytes = 0;  // Packed where this is less than what it holds.
  };

  struct Record {
    std::vector<Piece> pieces;
    int64_t bytes = 0;
  };

  static constexpr const char* kName = "compressed";

  void Free(int64_t location) override { records_.Remove(location); }

  HostMemory memory_;
  StoredRecords<Record> records_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_COMPRESSED_TIER_H_
