// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_CC_UNIFIED_POOL_FIXTURE_H_
#define SN_TF_TESTS_CC_UNIFIED_POOL_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "cc/pool/transfer_progress.h"
#include "cc/pool/unified_pool.h"
#include "tests/cc/fake_tier.h"
#include "tests/cc/tier_copies.h"

namespace sn_tf {

inline constexpr int64_t kPooledBytes = 12;  // Three chunks.

// How a store ended.
struct Stored {
  PooledBuffer buffer;
  TierError error;
};

inline TierError Fault(TierError::Kind kind) {
  return {kind, "It went wrong."};
}

// Of all steps of that kind.
inline FakeTier::Hook FailsAt(FakeTier::Step step, TierError::Kind kind,
                              int chunk = 0) {
  return [=](FakeTier::Step at, int of_chunk) {
    return at == step && of_chunk == chunk ? Fault(kind) : TierError();
  };
}

// Two tiers, "near" and "far".
class UnifiedPoolTest : public testing::Test {
 protected:
  UnifiedPoolTest() { MakePool(/*checked=*/false); }

  void MakePool(bool checked, int64_t near_limit_bytes = 1 << 20) {
    pool_.reset();
    near_ = new FakeTier("near", near_limit_bytes);
    far_ = new FakeTier("far");
    std::vector<PoolTier> tiers(2);
    tiers[0].tier.reset(near_);
    tiers[1].tier.reset(far_);
    for (PoolTier& tier : tiers) tier.checked = checked;
    pool_ = std::make_unique<UnifiedPool>(std::move(tiers), &leaving_);
  }

  std::future<Stored> BeginStore(const Bytes& source, int64_t needed_at = 0,
                                 std::shared_ptr<UnifiedPool::Transit> transit =
                                     std::make_shared<UnifiedPool::Transit>()) {
    auto ended = std::make_shared<std::promise<Stored>>();
    pool_->Store("grads/w:0", source.data(),
                 static_cast<int64_t>(source.size()), needed_at,
                 std::move(transit),
                 [ended](PooledBuffer buffer, const TierError& error) {
                   ended->set_value({std::move(buffer), error});
                 });
    return ended->get_future();
  }

  Stored Store(const Bytes& source) { return BeginStore(source).get(); }

  std::future<TierError> BeginLoad(
      const PooledBuffer& buffer, Bytes* back, int64_t needed_at = 0,
      std::shared_ptr<UnifiedPool::Transit> transit =
          std::make_shared<UnifiedPool::Transit>()) {
    back->assign(buffer.stored.bytes(), 0);
    auto ended = std::make_shared<std::promise<TierError>>();
    pool_->Load(buffer, back->data(), needed_at, std::move(transit),
                [ended](const TierError& error) { ended->set_value(error); });
    return ended->get_future();
  }

  TierError Load(const PooledBuffer& buffer, Bytes* back) {
    return BeginLoad(buffer, back).get();
  }

  // Waits until what has ended is released too.
  void Settle() {
    uint64_t seen = 0;
    while (leaving_.Wait(&seen, std::chrono::seconds(30))) {
    }
  }

  // Keeps the queue that comes to that step busy until Open.
  FakeTier::Hook BlocksAt(FakeTier::Step step, int chunk = 0) {
    begun_ = {};
    gate_ = {};
    blocks_ = true;
    return [this, step, chunk, open = gate_.get_future().share()](
               FakeTier::Step at, int of_chunk) {
      if (at == step && of_chunk == chunk && blocks_.exchange(false)) {
        begun_.set_value();
        open.wait();
      }
      return TierError();
    };
  }
  void WaitUntilBlocked() { begun_.get_future().wait(); }
  void Open() { gate_.set_value(); }

  TransferProgress leaving_;
  FakeTier* near_ = nullptr;
  FakeTier* far_ = nullptr;
  std::atomic<bool> blocks_{false};  // The next one at that step.
  std::promise<void> begun_;
  std::promise<void> gate_;
  const Bytes source_ = RandomBytes(kPooledBytes, 1);
  Bytes back_;
  std::unique_ptr<UnifiedPool> pool_;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_UNIFIED_POOL_FIXTURE_H_
