// SPDX-License-Identifier: Apache-2.0
//
// The Unified Tensor Pool (SuperNeurons, 3.3.1): tiers in order of preference,
// each behind a link of its own. A buffer goes to the first tier that takes it;
// where a tier is full or broken, to the next one.
#ifndef SN_TF_CC_POOL_UNIFIED_POOL_H_
#define SN_TF_CC_POOL_UNIFIED_POOL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cc/pool/link.h"
#include "cc/pool/tier.h"
#include "cc/pool/tier_bandwidth.h"
#include "cc/pool/transfer_progress.h"

namespace sn_tf {

// A tier of a pool, with what is known of it.
struct PoolTier {
  std::unique_ptr<Tier> tier;
  TierBandwidth bandwidth;  // Measured; zeros: not.
  std::string folder;       // Of a file tier.
  std::string warning;      // What its user should know; mostly empty.
  // What comes back is compared with what was stored, by the pool. Tiers that
  // do so by themselves need it not.
  bool checked = false;
};

// What a pool stores of one buffer.
struct PooledBuffer {
  StoredBuffer stored;
  int tier = -1;  // Index in the pool.
  uint64_t checksum = 0;
  std::string name;
};

struct PoolTierStats {
  std::string name;
  TierUsage usage;
  std::string folder;
  std::string warning;
  TierBandwidth bandwidth;
  int64_t out_bytes = 0;        // Copied there, ever.
  int64_t in_bytes = 0;         // Copied back, ever.
  int64_t out_taken_bytes = 0;  // That what was copied there took.
  double out_seconds = 0;
  double in_seconds = 0;
  int64_t faults = 0;   // Copies that failed, full tiers aside.
  bool broken = false;  // Not asked any more.
};

// Thread-safe. Must outlive what it stores, and every transfer it began.
class UnifiedPool {
 public:
  // `leaving` is told of what moves out; it must outlive the pool.
  UnifiedPool(std::vector<PoolTier> tiers, TransferProgress* leaving);

  // Both return at once and call `done` exactly once, on the thread of a link
  // or before they return; it must not block.
  using StoreDone = std::function<void(PooledBuffer, const TierError&)>;
  using LoadDone = std::function<void(const TierError&)>;

  // By which a transfer is hurried and cancelled; a new one for each.
  class Transit;

  // Copies `bytes` from `source`, which must not change until `done`.
  // `needed_at`: see Transfer. `name` is the buffer's, for messages.
  void Store(std::string name, const void* source, int64_t bytes,
             int64_t needed_at, std::shared_ptr<Transit> transit,
             StoreDone done);

  // Copies `buffer` to `destination`. Both must last until `done`.
  void Load(const PooledBuffer& buffer, void* destination, int64_t needed_at,
            std::shared_ptr<Transit> transit, LoadDone done);

  std::vector<PoolTierStats> stats() const;

  // Gives what the tiers took and do not use back to the system. Slow.
  void ReleaseFreeSpace();

 private:
  struct Member {
    Member(PoolTier tier_and_speed, const std::string& name,
           TransferProgress* leaving)
        : of(std::move(tier_and_speed)), link(name, leaving) {}

    PoolTier of;
    std::atomic<int64_t> out_taken_bytes{0};
    std::atomic<int64_t> faults{0};
    // Each on its own: a disk may take what it does not give back.
    std::atomic<int> failed_stores_in_a_row{0};
    std::atomic<int> failed_loads_in_a_row{0};
    Link link;  // Last: its threads use the others.
  };
  struct Storing;
  struct Loading;

  void StoreFrom(size_t tier, std::shared_ptr<Storing> storing);
  void EndStore(size_t tier, const std::shared_ptr<Storing>& storing,
                TierCopy* copy, const TierError& error);
  void LoadOnce(const std::shared_ptr<Loading>& loading);
  // Counts how a copy of a tier's ended.
  static void Note(Member* member, std::atomic<int>* faults_in_a_row,
                   const TierError& error);
  static bool IsBroken(const Member& member);

  std::vector<std::unique_ptr<Member>> members_;
};

// What is asked of it before its transfer begins, or while that goes from one
// tier to the next, holds too.
class UnifiedPool::Transit {
 public:
  // The transfer is needed at once now.
  void Hurry();
  // It ends with kCancelled, unless it ends before.
  void Cancel();

 private:
  friend class UnifiedPool;

  // Goes on as `transfer`, in that queue.
  void Push(TransferQueue* queue, Transfer transfer);

  std::mutex mutex_;
  TransferQueue* queue_ = nullptr;
  TransferQueue::Ticket ticket_ = 0;
  bool hurried_ = false;
  bool cancelled_ = false;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_UNIFIED_POOL_H_
