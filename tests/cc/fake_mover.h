// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_CC_FAKE_MOVER_H_
#define SN_TF_TESTS_CC_FAKE_MOVER_H_

#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "cc/ops/tensor_mover.h"
#include "cc/pool/device_copy_counters.h"
#include "cc/pool/stall_meter.h"
#include "cc/pool/tensor_cache.h"
#include "tensorflow/core/framework/tensor.h"

namespace sn_tf {

// The copies of one FakeMover: the test sees them begin, and ends them.
struct FakeCopies {
  explicit FakeCopies(TensorCache* cache_or_null) : cache(cache_or_null) {}

  // Ends the copy out, or the copy in, that has begun.
  void EndOut(const absl::Status& status = absl::OkStatus()) {
    auto stored = std::make_shared<TensorStorage>(PinnedTensor(
        tensorflow::Tensor(source->dtype(), source->shape()), &counters));
    tensorflow::Tensor& copy = std::get<PinnedTensor>(*stored).tensor();
    std::memcpy(copy.data(), source->data(), source->TotalBytes());
    std::exchange(out, nullptr)(status, std::move(stored));
  }
  void EndIn(const absl::Status& status = absl::OkStatus()) {
    const tensorflow::Tensor& copy =
        std::get<PinnedTensor>(*stored_copy).tensor();
    std::memcpy(destination->data(), copy.data(), copy.TotalBytes());
    std::exchange(in, nullptr)(status);
  }

  TensorCache* const cache;
  StallMeter stalls;
  DeviceCopyCounters counters;
  absl::Status refusal;  // Unless OK, no copy out begins.

  // Of the copy under way.
  const tensorflow::Tensor* source = nullptr;
  TensorMover::OutDone out;
  const TensorStorage* stored_copy = nullptr;
  tensorflow::Tensor* destination = nullptr;
  TensorMover::InDone in;

  int outs = 0;
  int ins = 0;
  int hurries = 0;
  int cancels = 0;
};

class FakeMover : public TensorMover {
 public:
  // `copies` outlives the mover.
  explicit FakeMover(FakeCopies* copies) : copies_(copies) {}

  bool Reaches(const tensorflow::DeviceBase& /*device*/) const override {
    return true;
  }
  void Out(const tensorflow::Tensor& tensor, int64_t /*needed_at*/,
           OutDone done) override {
    ++copies_->outs;
    if (!copies_->refusal.ok()) {
      done(copies_->refusal, nullptr);
      return;
    }
    copies_->source = &tensor;
    copies_->out = std::move(done);
  }
  void In(const TensorStorage& storage, int64_t /*needed_at*/,
          tensorflow::Tensor* tensor, InDone done) override {
    ++copies_->ins;
    copies_->stored_copy = &storage;
    copies_->destination = tensor;
    copies_->in = std::move(done);
  }
  void Hurry() override { ++copies_->hurries; }
  void Cancel() override { ++copies_->cancels; }
  TensorCache* cache() override { return copies_->cache; }
  StallMeter* stalls() override { return &copies_->stalls; }

 private:
  FakeCopies* const copies_;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_FAKE_MOVER_H_
