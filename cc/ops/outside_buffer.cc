// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/outside_buffer.h"

#include <utility>
#include <variant>

#include "cc/pool/stall_meter.h"
#include "tensorflow/core/common_runtime/dma_helper.h"
#include "tensorflow/core/framework/allocation_description.pb.h"

namespace sn_tf {
namespace {

using tensorflow::Tensor;

// Nobody waits for anything more urgently than for a variable.
constexpr int64_t kNeededAt = 0;

}  // namespace

std::optional<Tensor> OutsideBuffer::Make(
    const Tensor& like, std::shared_ptr<TensorStorage> storage,
    std::shared_ptr<TensorMover> mover, ArenaAllocator* arena) {
  const void* data = nullptr;
  std::unique_ptr<StoredView> view;
  if (const auto* const pinned = std::get_if<PinnedTensor>(storage.get())) {
    data = pinned->tensor().data();
  } else {
    const StoredBuffer& stored = std::get<PooledBuffer>(*storage).stored;
    view = stored.tier()->View(stored);
    if (view != nullptr) data = view->data();
  }
  if (data == nullptr) return std::nullopt;
  auto* const buffer =
      new OutsideBuffer(data, like.TotalBytes(), std::move(storage),
                        std::move(view), std::move(mover), arena);
  Tensor tensor(like.dtype(), like.shape(), buffer);
  buffer->Unref();  // The tensor has a reference of its own.
  return tensor;
}

OutsideBuffer::OutsideBuffer(const void* data, size_t bytes,
                             std::shared_ptr<TensorStorage> storage,
                             std::unique_ptr<StoredView> view,
                             std::shared_ptr<TensorMover> mover,
                             ArenaAllocator* arena)
    // Nobody writes there: see OwnsMemory.
    : TensorBuffer(const_cast<void*>(data)),
      bytes_(bytes),
      mover_(std::move(mover)),
      storage_(std::move(storage)),
      view_(std::move(view)),
      arena_(arena) {
  if (arena_ != nullptr) arena_->AddStateOutside(static_cast<int64_t>(bytes_));
}

OutsideBuffer::~OutsideBuffer() {
  if (arena_ != nullptr) arena_->AddStateOutside(-static_cast<int64_t>(bytes_));
}

OutsideBuffer* OutsideBuffer::Of(const Tensor& tensor) {
  // Looking at the buffer is no change, but not const.
  return dynamic_cast<OutsideBuffer*>(
      tensorflow::DMAHelper::buffer(const_cast<Tensor*>(&tensor)));
}

void OutsideBuffer::CopyTo(Tensor* tensor, TensorMover::InDone done) {
  // `done` may let go of this buffer before In returns.
  const std::shared_ptr<TensorMover> mover = mover_;
  const std::shared_ptr<TensorStorage> storage = storage_;
  StallMeter* const stalls = mover->stalls();
  if (stalls != nullptr) stalls->Begin();
  mover->In(*storage, kNeededAt, tensor,
            [stalls, done = std::move(done)](const absl::Status& status) {
              if (stalls != nullptr) stalls->End();
              done(status);
            });
}

void OutsideBuffer::FillAllocationDescription(
    tensorflow::AllocationDescription* proto) const {
  proto->set_requested_bytes(static_cast<int64_t>(bytes_));
  proto->set_allocator_name("sn_tf_outside");
}

}  // namespace sn_tf
