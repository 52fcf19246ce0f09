// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/swapped_tensor.h"

#include <utility>

#include "tensorflow/core/common_runtime/dma_helper.h"

namespace sn_tf {
namespace {

using tensorflow::OpKernelContext;
using tensorflow::Tensor;

void CallAll(const std::vector<std::function<void()>>& callbacks) {
  for (const std::function<void()>& callback : callbacks) callback();
}

}  // namespace

std::shared_ptr<SwappedTensor> SwappedTensor::Make(
    Tensor tensor, std::unique_ptr<TensorMover> mover, int64_t needed_at) {
  return std::shared_ptr<SwappedTensor>(
      new SwappedTensor(std::move(tensor), std::move(mover), needed_at));
}

SwappedTensor::SwappedTensor(Tensor tensor, std::unique_ptr<TensorMover> mover,
                             int64_t needed_at)
    : dtype_(tensor.dtype()),
      shape_(tensor.shape()),
      bytes_(static_cast<int64_t>(tensor.TotalBytes())),
      mover_(std::move(mover)),
      needed_at_(needed_at),
      resident_(std::move(tensor)) {}

SwappedTensor::~SwappedTensor() {
  if (mover_->cache() != nullptr) mover_->cache()->Erase(this);
}

void SwappedTensor::MoveOut() {
  Tensor source;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    leaving_ = true;
    source = *resident_;
  }
  // `source` keeps the memory as it is: what others hold too, no op reuses.
  mover_->Out(source, needed_at_,
              [self = shared_from_this(), source](
                  const absl::Status& status,
                  std::shared_ptr<TensorStorage> storage) mutable {
                source = Tensor();
                self->OnOut(status, std::move(storage));
              });
}

void SwappedTensor::MayLeave() {
  if (mover_->cache() == nullptr) {
    MoveOut();
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    cached_ = true;
  }
  mover_->cache()->Insert(shared_from_this());
}

void SwappedTensor::OnOut(const absl::Status& status,
                          std::shared_ptr<TensorStorage> storage) {
  Callbacks callbacks;
  std::optional<Tensor> gone;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    leaving_ = false;
    if (status.ok()) {
      storage_ = std::move(storage);
      if (fetches_ == 0) std::swap(gone, resident_);
    }
    callbacks.swap(when_out_);
  }
  gone.reset();
  if (!status.ok() && !absl::IsCancelled(status) &&
      mover_->cache() != nullptr) {
    mover_->cache()->Refused(this, std::string(status.message()));
  }
  CallAll(callbacks);
}

std::function<void()> SwappedTensor::Stalling(
    std::function<void()> done) const {
  StallMeter* const stalls = mover_->stalls();
  if (stalls == nullptr) return done;
  stalls->Begin();
  return [stalls, done = std::move(done)] {
    stalls->End();
    done();
  };
}

void SwappedTensor::WaitUntilOut(std::function<void()> done) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (leaving_) {
      when_out_.push_back(Stalling(std::move(done)));
      done = nullptr;
    }
  }
  if (done != nullptr) {
    done();
  } else {
    mover_->Hurry();
  }
}

void SwappedTensor::BringBack(const Allocate& allocate, int64_t needed_at) {
  std::shared_ptr<TensorStorage> storage;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (resident_.has_value() || returning_) return;
    returning_ = true;
    was_away_ = true;
    failed_ = absl::OkStatus();
    storage = storage_;
  }
  auto tensor = std::make_shared<Tensor>();
  const absl::Status allocated = allocate(tensor.get());
  if (!allocated.ok()) {
    OnBack(allocated, Tensor());
    return;
  }
  Tensor* const destination = tensor.get();
  mover_->In(*storage, needed_at, destination,
             [self = shared_from_this(), storage,
              tensor = std::move(tensor)](const absl::Status& status) {
               self->OnBack(status, std::move(*tensor));
             });
}

void SwappedTensor::OnBack(const absl::Status& status, Tensor tensor) {
  Callbacks callbacks;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    returning_ = false;
    failed_ = status;
    if (status.ok()) resident_ = std::move(tensor);
    callbacks.swap(when_back_);
  }
  CallAll(callbacks);
}

void SwappedTensor::Prefetch(OpKernelContext* context, int64_t needed_at) {
  // Early is good, but not at the price of anyone's memory.
  tensorflow::AllocationAttributes if_there_is_any;
  if_there_is_any.retry_on_failure = false;
  BringBack(
      [&](Tensor* tensor) {
        return context->allocate_temp(dtype_, shape_, tensor,
                                      tensorflow::AllocatorAttributes(),
                                      if_there_is_any);
      },
      needed_at);
}

void SwappedTensor::Fetch(OpKernelContext* context, int64_t needed_at,
                          FetchDone done) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++fetches_;
  }
  BringBack(
      [&](Tensor* tensor) {
        return context->allocate_temp(dtype_, shape_, tensor);
      },
      needed_at);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (returning_) {
      when_back_.push_back(
          Stalling([self = shared_from_this(), done] { self->PassOn(done); }));
      done = nullptr;
    }
  }
  if (done == nullptr) {
    mover_->Hurry();
  } else {
    PassOn(done);
  }
}

void SwappedTensor::PassOn(const FetchDone& done) {
  Tensor tensor;
  absl::Status failed;
  bool hit;
  bool cached;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    --fetches_;
    // Of an earlier attempt, maybe, after which it came back all the same.
    if (!resident_.has_value()) failed = failed_;
    hit = !std::exchange(was_away_, false);
    cached = cached_;
    if (resident_.has_value()) tensor = *resident_;
    // What a plan has moved out leaves again by being let go of: a tier has it.
    // What may stay is kept for whoever fetches it next.
    if (storage_ != nullptr && !cached && fetches_ == 0) resident_.reset();
  }
  TensorCache* const cache = mover_->cache();
  if (cache != nullptr && failed.ok()) {
    if (hit) {
      cache->CountHit();
    } else {
      cache->CountMiss();
    }
    if (cached) cache->Insert(shared_from_this());
  }
  done(failed, std::move(tensor));
}

void SwappedTensor::Abandon() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    abandoned_ = true;
    if (!leaving_ && !returning_) return;
  }
  mover_->Cancel();
}

bool SwappedTensor::IsLocked() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (leaving_ || fetches_ > 0 || !resident_.has_value()) return true;
  // Asking for the whole that a slice is of is no change, but not const.
  tensorflow::TensorBuffer* const buffer =
      tensorflow::DMAHelper::buffer(const_cast<Tensor*>(&*resident_));
  return !buffer->RefCountIsOne() || !buffer->root_buffer()->RefCountIsOne();
}

Evictable::Eviction SwappedTensor::Evict() {
  {
    std::optional<Tensor> gone;
    std::lock_guard<std::mutex> lock(mutex_);
    if (!resident_.has_value() || leaving_ || fetches_ > 0) {
      return Eviction::kFailed;
    }
    if (storage_ != nullptr) {
      std::swap(gone, resident_);
      return Eviction::kFreed;
    }
  }
  MoveOut();
  std::lock_guard<std::mutex> lock(mutex_);
  const bool left = leaving_ || !resident_.has_value();
  return left ? Eviction::kLeaving : Eviction::kFailed;
}

}  // namespace sn_tf
