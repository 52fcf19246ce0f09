// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_CC_FAKE_TIER_H_
#define SN_TF_TESTS_CC_FAKE_TIER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "cc/pool/tier.h"
#include "tests/cc/tier_copies.h"

namespace sn_tf {

// A tier whose failures and whose speed the test decides.
class FakeTier : public Tier {
 public:
  static constexpr int64_t kChunkBytes = 4;

  enum class Step { kBeginWrite, kWrite, kRead };
  // Called before each step, with the index of the chunk. Its error is the
  // step's; while it does not return, the step takes place.
  using Hook = std::function<TierError(Step step, int chunk)>;

  explicit FakeTier(std::string name, int64_t limit_bytes = 1 << 20)
      : name_(std::move(name)), limit_bytes_(limit_bytes) {}

  // Between transfers only.
  void set_hook(Hook hook) { hook_ = std::move(hook); }

  // So many of the next reads return a wrong byte, without an error.
  void CorruptReads(int count);

  // Tier.
  const char* name() const override { return name_.c_str(); }
  std::unique_ptr<TierWrite> BeginWrite(const void* source, int64_t bytes,
                                        TierError* error) override;
  std::unique_ptr<TierCopy> BeginRead(const StoredBuffer& stored,
                                      void* destination) override;
  TierUsage usage() const override;
  void ReleaseFreeSpace() override {}

 private:
  class Write;
  class Read;

  void Free(int64_t location) override;
  TierError Ask(Step step, int chunk) const;
  // Takes, or gives back where it is negative.
  bool Take(int64_t bytes);

  const std::string name_;
  const int64_t limit_bytes_;
  Hook hook_;
  mutable std::mutex mutex_;
  std::map<int64_t, Bytes> stored_;
  int64_t locations_ = 0;
  int64_t taken_bytes_ = 0;
  int corrupt_reads_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_FAKE_TIER_H_
