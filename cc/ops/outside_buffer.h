// SPDX-License-Identifier: Apache-2.0
//
// Where the value of a variable lies while the variable is out: in memory of a
// tier that anyone can read as any tensor's. So whoever reads or assigns the
// variable meanwhile, be it a checkpoint, eager code or another function, need
// not know that it is out.
#ifndef SN_TF_CC_OPS_OUTSIDE_BUFFER_H_
#define SN_TF_CC_OPS_OUTSIDE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "cc/allocator/arena_allocator.h"
#include "cc/ops/tensor_mover.h"
#include "cc/pool/tier.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {

// It may be read, and not written: whoever updates the variable finds that the
// buffer is not the variable's own, and puts a new one in its place.
class OutsideBuffer : public tensorflow::TensorBuffer {
 public:
  // A tensor like `like` whose value is `storage`, which `mover` has made of
  // it. The bytes count as outside of `arena`, which may be nullptr, for as
  // long as anyone refers to them. Nothing where `storage` is on a tier whose
  // buffers are no memory.
  static std::optional<tensorflow::Tensor> Make(
      const tensorflow::Tensor& like, std::shared_ptr<TensorStorage> storage,
      std::shared_ptr<TensorMover> mover, ArenaAllocator* arena);

  // The buffer of a tensor that Make made, or nullptr.
  static OutsideBuffer* Of(const tensorflow::Tensor& tensor);

  // Copies the value to `tensor`, of the same type and shape. The caller keeps
  // both until `done`.
  void CopyTo(tensorflow::Tensor* tensor, TensorMover::InDone done);

  size_t size() const override { return bytes_; }
  tensorflow::TensorBuffer* root_buffer() override { return this; }
  void FillAllocationDescription(
      tensorflow::AllocationDescription* proto) const override;
  bool OwnsMemory() const override { return false; }

 private:
  OutsideBuffer(const void* data, size_t bytes,
                std::shared_ptr<TensorStorage> storage,
                std::unique_ptr<StoredView> view,
                std::shared_ptr<TensorMover> mover, ArenaAllocator* arena);
  ~OutsideBuffer() override;

  const size_t bytes_;
  const std::shared_ptr<TensorMover> mover_;
  const std::shared_ptr<TensorStorage> storage_;
  const std::unique_ptr<StoredView> view_;  // Of storage_: ends before it.
  ArenaAllocator* const arena_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_OUTSIDE_BUFFER_H_
