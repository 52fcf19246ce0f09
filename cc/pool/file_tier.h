// SPDX-License-Identifier: Apache-2.0
//
// The tier on a disk: extents of one swap file.
#ifndef SN_TF_CC_POOL_FILE_TIER_H_
#define SN_TF_CC_POOL_FILE_TIER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cc/pool/shared_arena.h"
#include "cc/pool/staged_file.h"
#include "cc/pool/stored_records.h"
#include "cc/pool/swap_file.h"
#include "cc/pool/tier.h"

namespace sn_tf {

// Every buffer is compared by checksum when it is read: training with wrong
// values would be worse than none.
class FileTier : public Tier {
 public:
  // Over a new swap file in `folder`, of at most `limit_bytes`; 0: as much as
  // is available there now. nullptr, and `*error`, where there can be no file.
  static std::unique_ptr<FileTier> Create(const std::string& folder,
                                          int64_t limit_bytes,
                                          TierError* error);

  FileTier(std::unique_ptr<SwapFile> file, int64_t limit_bytes);

  const char* name() const override { return "file"; }
  std::unique_ptr<TierWrite> BeginWrite(const void* source, int64_t bytes,
                                        TierError* error) override;
  std::unique_ptr<TierCopy> BeginRead(const StoredBuffer& stored,
                                      void* destination) override;
  std::unique_ptr<StoredView> View(const StoredBuffer& stored) override;
  TierUsage usage() const override;
  void ReleaseFreeSpace() override;

  // Puts the faults that SN_TF_FAULT names (see fault_injection.h) into the
  // transfers from here on; before any other thread makes one.
  TierError ObeyFaultVariable();

  const SwapFile& file() const { return file_.file(); }

 private:
  class Write;
  class Read;

  struct Record {
    SharedArena::Block block;
    int64_t bytes = 0;
    uint64_t checksum = 0;
  };

  void Free(int64_t location) override { records_.Remove(location); }
  TierError Refusal(int64_t bytes) const;

  StagedFile file_;
  SharedArena arena_;  // Offsets in the file.
  StoredRecords<Record> records_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_FILE_TIER_H_
