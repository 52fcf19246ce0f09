// SPDX-License-Identifier: Apache-2.0
//
// The tier in host memory: buffers as they are, at the speed of memory.
#ifndef SN_TF_CC_POOL_HOST_TIER_H_
#define SN_TF_CC_POOL_HOST_TIER_H_

#include <cstdint>
#include <memory>

#include "cc/pool/host_memory.h"
#include "cc/pool/shared_arena.h"
#include "cc/pool/stored_records.h"
#include "cc/pool/tier.h"

namespace sn_tf {

class HostTier : public Tier {
 public:
  // 0: as much as the system allows.
  explicit HostTier(int64_t limit_bytes) : memory_(kName, limit_bytes) {}

  const char* name() const override { return kName; }
  std::unique_ptr<TierWrite> BeginWrite(const void* source, int64_t bytes,
                                        TierError* error) override;
  std::unique_ptr<TierCopy> BeginRead(const StoredBuffer& stored,
                                      void* destination) override;
  std::unique_ptr<StoredView> View(const StoredBuffer& stored) override;
  TierUsage usage() const override;
  void ReleaseFreeSpace() override { memory_.ReleaseFree(); }

 private:
  class Write;
  class Read;
  class InPlace;

  struct Record {
    SharedArena::Block block;
    int64_t bytes = 0;
  };

  static constexpr const char* kName = "host";

  void Free(int64_t location) override { records_.Remove(location); }

  HostMemory memory_;
  StoredRecords<Record> records_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_HOST_TIER_H_
