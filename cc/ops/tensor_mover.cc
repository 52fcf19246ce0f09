// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/tensor_mover.h"

#include <mutex>

#include "cc/pool/pool.h"

namespace sn_tf {

using tensorflow::Tensor;

absl::Status ToStatus(const TierError& error) {
  switch (error.kind) {
    case TierError::Kind::kNone:
      return absl::OkStatus();
    case TierError::Kind::kFull:
      return absl::ResourceExhaustedError(error.message);
    case TierError::Kind::kFailed:
    case TierError::Kind::kCorrupt:
      return absl::DataLossError(error.message);
    case TierError::Kind::kCancelled:
      return absl::CancelledError(error.message);
  }
  return absl::InternalError(error.message);
}

absl::Status StoredElsewhere() {
  return absl::InvalidArgumentError(
      "SnSwapIn received a handle whose tensor was swapped out on a device of "
      "another kind. Place SnSwapOut and SnSwapIn on the same device.");
}

namespace {

class PoolMover : public TensorMover {
 public:
  PoolMover(UnifiedPool* pool, std::string buffer)
      : pool_(pool), buffer_(std::move(buffer)) {}

  void Out(const Tensor& tensor, int64_t needed_at, OutDone done) override {
    Begins(pool_->Store(
        buffer_, tensor.data(), static_cast<int64_t>(tensor.TotalBytes()),
        needed_at,
        [done = std::move(done)](PooledBuffer stored, const TierError& error) {
          done(ToStatus(error),
               std::make_shared<TensorStorage>(std::move(stored)));
        }));
  }

  void In(const TensorStorage& storage, int64_t needed_at, Tensor* tensor,
          InDone done) override {
    const auto* const stored = std::get_if<PooledBuffer>(&storage);
    if (stored == nullptr) {
      done(StoredElsewhere());
      return;
    }
    Begins(pool_->Load(*stored, tensor->data(), needed_at,
                       [done = std::move(done)](const TierError& error) {
                         done(ToStatus(error));
                       }));
  }

  void Hurry() override {
    const auto transit = Latest();
    if (transit != nullptr) transit->Hurry();
  }

  void Cancel() override {
    const auto transit = Latest();
    if (transit != nullptr) transit->Cancel();
  }

  TensorCache* cache() override { return &CpuTraffic().cache; }
  StallMeter* stalls() override { return &CpuTraffic().stalls; }

 private:
  void Begins(std::shared_ptr<UnifiedPool::Transit> transit) {
    std::lock_guard<std::mutex> lock(mutex_);
    transit_ = std::move(transit);
  }

  std::shared_ptr<UnifiedPool::Transit> Latest() {
    std::lock_guard<std::mutex> lock(mutex_);
    return transit_;
  }

  UnifiedPool* const pool_;
  const std::string buffer_;
  std::mutex mutex_;
  std::shared_ptr<UnifiedPool::Transit> transit_;
};

}  // namespace

std::unique_ptr<TensorMover> MakePoolMover(UnifiedPool* pool,
                                           std::string buffer) {
  return std::make_unique<PoolMover>(pool, std::move(buffer));
}

}  // namespace sn_tf
