// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_CC_SCRIPTED_COPY_H_
#define SN_TF_TESTS_CC_SCRIPTED_COPY_H_

#include <functional>
#include <memory>
#include <utility>

#include "cc/pool/tier.h"

namespace sn_tf {

// A copy of nothing, whose chunks are what the test says.
class ScriptedCopy : public TierCopy {
 public:
  using Chunk = std::function<Progress(TierError* error)>;

  explicit ScriptedCopy(Chunk chunk) : chunk_(std::move(chunk)) {}

  Progress CopyChunk(TierError* error) override { return chunk_(error); }

 private:
  const Chunk chunk_;
};

// Of `chunks` chunks, before each of which it calls `before` with its index.
inline std::unique_ptr<TierCopy> CopyOf(
    int chunks, std::function<void(int chunk)> before = [](int) {}) {
  return std::make_unique<ScriptedCopy>(
      [chunks, before = std::move(before), done = 0](TierError*) mutable {
        before(done);
        return ++done == chunks ? TierCopy::Progress::kDone
                                : TierCopy::Progress::kMore;
      });
}

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_SCRIPTED_COPY_H_
