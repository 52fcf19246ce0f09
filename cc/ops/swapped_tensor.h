// SPDX-License-Identifier: Apache-2.0
//
// A tensor that SnSwapOut has taken over: in the device's memory, on a tier, or
// on its way. What SnSwapOut returns in its variant refers to one.
//
//   SnSwapOut   makes it. In a plan that needs the memory it sets out at once;
//               otherwise it stays, and the tensor cache may move it out.
//   SnSwapWait  waits until it has left.
//   SnPrefetch  begins to bring it back.
//   SnSwapIn    waits until it is back, and passes it on.
#ifndef SN_TF_CC_OPS_SWAPPED_TENSOR_H_
#define SN_TF_CC_OPS_SWAPPED_TENSOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cc/ops/tensor_mover.h"
#include "cc/pool/tensor_cache.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {

// Thread-safe.
class SwappedTensor : public Evictable,
                      public std::enable_shared_from_this<SwappedTensor> {
 public:
  // `needed_at`: see Transfer.
  static std::shared_ptr<SwappedTensor> Make(tensorflow::Tensor tensor,
                                             std::unique_ptr<TensorMover> mover,
                                             int64_t needed_at);
  ~SwappedTensor() override;

  tensorflow::DataType dtype() const { return dtype_; }
  const tensorflow::TensorShape& shape() const { return shape_; }

  // It leaves now.
  void MoveOut();
  // It leaves when memory is needed. Where nobody tells when that is, it leaves
  // now.
  void MayLeave();

  // Calls `done` when it has left, or no tier has taken it: it then stays.
  // Time until then counts as a stall.
  void WaitUntilOut(std::function<void()> done);

  // Begins to bring it back, if it is away. `context` allocates; where there is
  // no memory now, it comes back when it is fetched.
  void Prefetch(tensorflow::OpKernelContext* context, int64_t needed_at);

  // Passes the tensor on when it is back, which is at once if it never left.
  using FetchDone = std::function<void(const absl::Status& status,
                                       tensorflow::Tensor tensor)>;
  void Fetch(tensorflow::OpKernelContext* context, int64_t needed_at,
             FetchDone done);

  // Nobody will fetch it any more, and what is under way is in vain.
  void Abandon();

  // Evictable.
  int64_t bytes() const override { return bytes_; }
  bool IsLocked() const override;
  Eviction Evict() override;

 private:
  using Callbacks = std::vector<std::function<void()>>;

  SwappedTensor(tensorflow::Tensor tensor, std::unique_ptr<TensorMover> mover,
                int64_t needed_at);

  // Begins to bring it back, if it is away, into what `allocate` makes.
  using Allocate = std::function<absl::Status(tensorflow::Tensor* tensor)>;
  void BringBack(const Allocate& allocate, int64_t needed_at);
  void OnOut(const absl::Status& status,
             std::shared_ptr<TensorStorage> storage);
  void OnBack(const absl::Status& status, tensorflow::Tensor tensor);
  // `done`, for whose call the device stands still from now on.
  std::function<void()> Stalling(std::function<void()> done) const;
  // Ends one fetch, of a tensor that is back or could not be brought back.
  void PassOn(const FetchDone& done);

  const tensorflow::DataType dtype_;
  const tensorflow::TensorShape shape_;
  const int64_t bytes_;
  const std::unique_ptr<TensorMover> mover_;
  const int64_t needed_at_;

  mutable std::mutex mutex_;
  std::optional<tensorflow::Tensor> resident_;  // None while it is away.
  std::shared_ptr<TensorStorage> storage_;      // nullptr: on no tier.
  bool cached_ = false;     // May leave when memory is needed.
  bool leaving_ = false;    // A copy out is under way.
  bool returning_ = false;  // A copy in is under way.
  bool was_away_ = false;   // Since the last fetch, a copy in has begun.
  int fetches_ = 0;         // Begun, not ended: it may not leave.
  bool abandoned_ = false;
  absl::Status failed_;  // Of the latest copy in.
  Callbacks when_out_;
  Callbacks when_back_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_SWAPPED_TENSOR_H_
