// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/swapped_tensor.h"

#include <utility>

#include "tensorflow/core/common_runtime/dma_helper.h"

namespace sn_tf {
namespace {

using tensorflow::OpKernelContext;
using tensorflow::Tensor;

}  // namespace

void SwappedTensor::CallAll(const Callbacks& callbacks,
                            const absl::Status& status) {
  for (const Callback& callback : callbacks) callback(status);
}

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
  std::shared_ptr<Tensor> source;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    leaving_ = true;
    source = std::make_shared<Tensor>(*resident_);
  }
  CopyOut(std::move(source));
}

void SwappedTensor::MayLeave() {
  if (mover_->cache() == nullptr) {
    MoveOut();
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    cached_ = true;
    in_cache_ = true;
  }
  mover_->cache()->Insert(shared_from_this());
}

void SwappedTensor::CopyOut(std::shared_ptr<Tensor> source) {
  // Keeps the memory as it is: what others hold too, no op reuses. Gone before
  // anyone who wants the memory hears that the copy has ended.
  const Tensor& tensor = *source;
  mover_->Out(tensor, needed_at_,
              [self = shared_from_this(), source = std::move(source)](
                  const absl::Status& status,
                  std::shared_ptr<TensorStorage> storage) mutable {
                source.reset();
                const Callbacks callbacks =
                    self->OnOut(status, std::move(storage));
                self.reset();
                CallAll(callbacks, status);
              });
  CancelIfAbandoned();
}

SwappedTensor::Callbacks SwappedTensor::OnOut(
    const absl::Status& status, std::shared_ptr<TensorStorage> storage) {
  Callbacks callbacks;
  std::optional<Tensor> gone;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    leaving_ = false;
    if (status.ok()) {
      if (!let_go_) storage_ = std::move(storage);
      if (fetches_ == 0) std::swap(gone, resident_);
    }
    callbacks.swap(when_out_);
  }
  if (!status.ok() && !absl::IsCancelled(status) &&
      mover_->cache() != nullptr) {
    mover_->cache()->Refused(this, std::string(status.message()));
  }
  return callbacks;
}

SwappedTensor::Callback SwappedTensor::Stalling(Callback callback) const {
  StallMeter* const stalls = mover_->stalls();
  if (stalls == nullptr) return callback;
  stalls->Begin();
  return [stalls, callback = std::move(callback)](const absl::Status& status) {
    stalls->End();
    callback(status);
  };
}

void SwappedTensor::WaitUntilOut(std::function<void()> done) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (leaving_) {
      when_out_.push_back(
          Stalling([done = std::move(done)](const absl::Status&) { done(); }));
      done = nullptr;
    }
  }
  if (done != nullptr) {
    done();
  } else {
    mover_->Hurry();
  }
}

std::shared_ptr<TensorStorage> SwappedTensor::Claim() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (resident_.has_value() || returning_) return nullptr;
  if (abandoned_) {
    failed_ = absl::CancelledError(
        "A swapped tensor was not brought back: its step was cancelled.");
    return nullptr;
  }
  returning_ = true;
  was_away_ = true;
  return storage_;
}

void SwappedTensor::CopyIn(std::shared_ptr<TensorStorage> storage,
                           Tensor tensor, int64_t needed_at) {
  const TensorStorage& from = *storage;
  auto shared = std::make_shared<Tensor>(std::move(tensor));
  Tensor* const to = shared.get();
  mover_->In(from, needed_at, to,
             [self = shared_from_this(), storage = std::move(storage),
              shared = std::move(shared)](const absl::Status& status) mutable {
               storage.reset();
               const Callbacks callbacks =
                   self->OnBack(status, std::move(*shared));
               self.reset();
               CallAll(callbacks, status);
             });
  CancelIfAbandoned();
}

SwappedTensor::Callbacks SwappedTensor::OnBack(const absl::Status& status,
                                               Tensor tensor) {
  Callbacks callbacks;
  std::lock_guard<std::mutex> lock(mutex_);
  returning_ = false;
  failed_ = status;
  if (status.ok()) resident_ = std::move(tensor);
  callbacks.swap(when_back_);
  return callbacks;
}

void SwappedTensor::Prefetch(OpKernelContext* context, int64_t needed_at) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (resident_.has_value() || returning_) return;
  }
  // Early is good, but not at the price of anyone's memory. Allocated before it
  // is claimed: no fetch fails for want of what this does not wait for.
  tensorflow::AllocationAttributes if_there_is_any;
  if_there_is_any.retry_on_failure = false;
  Tensor tensor;
  if (!context
           ->allocate_temp(dtype_, shape_, &tensor,
                           tensorflow::AllocatorAttributes(), if_there_is_any)
           .ok()) {
    return;
  }
  std::shared_ptr<TensorStorage> storage = Claim();
  if (storage != nullptr) {
    CopyIn(std::move(storage), std::move(tensor), needed_at);
  }
}

void SwappedTensor::Fetch(OpKernelContext* context, int64_t needed_at,
                          FetchDone done) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++fetches_;
  }
  std::shared_ptr<TensorStorage> storage = Claim();
  if (storage != nullptr) {
    Tensor tensor;
    const absl::Status allocated =
        context->allocate_temp(dtype_, shape_, &tensor);
    if (allocated.ok()) {
      CopyIn(std::move(storage), std::move(tensor), needed_at);
    } else {
      CallAll(OnBack(allocated, Tensor()), allocated);
    }
  }
  absl::Status failed;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    failed = failed_;
    if (returning_) {
      when_back_.push_back(Stalling([self = shared_from_this(),
                                     done](const absl::Status& status) mutable {
        PassOn(std::move(self), status, done);
      }));
      done = nullptr;
    }
  }
  if (done == nullptr) {
    mover_->Hurry();
  } else {
    PassOn(shared_from_this(), failed, done);
  }
}

void SwappedTensor::PassOn(std::shared_ptr<SwappedTensor> self,
                           const absl::Status& status, const FetchDone& done) {
  absl::StatusOr<Tensor> fetched = self->EndFetch(status);
  self.reset();
  if (fetched.ok()) {
    done(absl::OkStatus(), *std::move(fetched));
  } else {
    done(fetched.status(), Tensor());
  }
}

absl::StatusOr<Tensor> SwappedTensor::EndFetch(const absl::Status& status) {
  Tensor tensor;
  absl::Status failed = status;
  bool hit;
  bool cached;
  bool back_in_cache;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    --fetches_;
    if (resident_.has_value()) {
      // Maybe after an attempt that failed.
      failed = absl::OkStatus();
      tensor = *resident_;
    }
    hit = !std::exchange(was_away_, false);
    cached = cached_;
    // What is leaving is gone in a moment.
    back_in_cache =
        cached_ && !in_cache_ && !leaving_ && !let_go_ && failed.ok();
    if (back_in_cache) in_cache_ = true;
    // What a plan has moved out leaves again by being let go of: a tier has it.
    // What may stay is kept for whoever fetches it next.
    const bool has_left = storage_ != nullptr && !cached;
    if ((has_left || let_go_) && fetches_ == 0) resident_.reset();
  }
  TensorCache* const cache = mover_->cache();
  if (cache != nullptr && failed.ok()) {
    if (hit) {
      cache->CountHit();
    } else {
      cache->CountMiss();
    }
    if (back_in_cache) {
      cache->Insert(shared_from_this());
    } else if (cached) {
      cache->Touch(this);
    }
  }
  if (!failed.ok()) return failed;
  return tensor;
}

void SwappedTensor::Abandon() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    abandoned_ = true;
    if (!leaving_ && !returning_) return;
  }
  mover_->Cancel();
}

void SwappedTensor::LetGo() {
  std::optional<Tensor> gone;
  std::shared_ptr<TensorStorage> stored;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    let_go_ = true;
    abandoned_ = true;
    stored.swap(storage_);
    if (fetches_ == 0) gone.swap(resident_);
  }
  Abandon();
}

void SwappedTensor::CancelIfAbandoned() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!abandoned_) return;
  }
  mover_->Cancel();
}

bool SwappedTensor::IsLocked() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (leaving_ || fetches_ > 0 || !resident_.has_value()) return true;
  // Asking for the whole that a slice is of is no change, but not const.
  tensorflow::TensorBuffer* const buffer =
      tensorflow::DMAHelper::buffer(const_cast<Tensor*>(&*resident_));
  // One without elements has no memory.
  if (buffer == nullptr) return true;
  return !buffer->RefCountIsOne() || !buffer->root_buffer()->RefCountIsOne();
}

Evictable::Eviction SwappedTensor::Evict() {
  std::shared_ptr<Tensor> source;
  {
    std::optional<Tensor> gone;
    std::lock_guard<std::mutex> lock(mutex_);
    in_cache_ = false;
    if (!resident_.has_value() || leaving_ || fetches_ > 0) {
      return Eviction::kFailed;
    }
    if (storage_ != nullptr || abandoned_) {
      std::swap(gone, resident_);
      return Eviction::kFreed;
    }
    // Set here, so that nobody else moves it out meanwhile.
    leaving_ = true;
    source = std::make_shared<Tensor>(*resident_);
  }
  CopyOut(std::move(source));
  std::lock_guard<std::mutex> lock(mutex_);
  const bool left = leaving_ || !resident_.has_value();
  return left ? Eviction::kLeaving : Eviction::kFailed;
}

}  // namespace sn_tf
