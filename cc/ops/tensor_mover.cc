// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/tensor_mover.h"

#include "cc/ops/latest_transit.h"
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

namespace {

class PoolMover : public TensorMover {
 public:
  PoolMover(UnifiedPool* pool, std::string buffer)
      : pool_(pool), buffer_(std::move(buffer)) {}

  bool Reaches(const tensorflow::DeviceBase& device) const override {
    return device.attributes().device_type() == tensorflow::DEVICE_CPU;
  }

  void Out(const Tensor& tensor, int64_t needed_at, OutDone done) override {
    pool_->Store(
        buffer_, tensor.data(), static_cast<int64_t>(tensor.TotalBytes()),
        needed_at, transit_.New(),
        [done = std::move(done)](PooledBuffer stored, const TierError& error) {
          done(ToStatus(error),
               std::make_shared<TensorStorage>(std::move(stored)));
        });
  }

  void In(const TensorStorage& storage, int64_t needed_at, Tensor* tensor,
          InDone done) override {
    pool_->Load(std::get<PooledBuffer>(storage), tensor->data(), needed_at,
                transit_.New(),
                [done = std::move(done)](const TierError& error) {
                  done(ToStatus(error));
                });
  }

  void Hurry() override { transit_.Hurry(); }
  void Cancel() override { transit_.Cancel(); }

  TensorCache* cache() override { return &CpuTraffic().cache; }
  StallMeter* stalls() override { return &CpuTraffic().stalls; }

 private:
  UnifiedPool* const pool_;
  const std::string buffer_;
  LatestTransit transit_;
};

}  // namespace

std::unique_ptr<TensorMover> MakePoolMover(UnifiedPool* pool,
                                           std::string buffer) {
  return std::make_unique<PoolMover>(pool, std::move(buffer));
}

}  // namespace sn_tf
