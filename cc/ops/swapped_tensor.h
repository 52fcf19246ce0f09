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
#include "absl/status/statusor.h"
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

  // Whether ops of `device` may fetch it.
  bool Reaches(const tensorflow::DeviceBase& device) const {
    return mover_->Reaches(device);
  }

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

  // Nobody needs it any more: what is under way is in vain, and it does not
  // come back.
  void Abandon();

  // The same, for good: its last handle is gone. Whoever refers to it still,
  // be it for a moment, keeps no memory, so that what it was fetched for may
  // write into the tensor.
  void LetGo();

  // Evictable.
  int64_t bytes() const override { return bytes_; }
  bool IsLocked() const override;
  Eviction Evict() override;

 private:
  // Receives how a copy ended.
  using Callback = std::function<void(const absl::Status& status)>;
  using Callbacks = std::vector<Callback>;

  SwappedTensor(tensorflow::Tensor tensor, std::unique_ptr<TensorMover> mover,
                int64_t needed_at);

  static void CallAll(const Callbacks& callbacks, const absl::Status& status);
  // Begins a copy out of `source`, the tensor; `leaving_` has been set.
  void CopyOut(std::shared_ptr<tensorflow::Tensor> source);
  // Where it is away and nobody brings it back, what the caller is to bring it
  // back from, and `returning_` has been set; otherwise nullptr.
  std::shared_ptr<TensorStorage> Claim();
  // Begins a copy from `storage` to `tensor`.
  void CopyIn(std::shared_ptr<TensorStorage> storage, tensorflow::Tensor tensor,
              int64_t needed_at);
  // Whoever abandoned it may have come before the copy that just began.
  void CancelIfAbandoned();
  // Both return who is to hear of it.
  Callbacks OnOut(const absl::Status& status,
                  std::shared_ptr<TensorStorage> storage);
  Callbacks OnBack(const absl::Status& status, tensorflow::Tensor tensor);
  // `callback`, for whose call the device stands still from now on.
  Callback Stalling(Callback callback) const;
  // Ends one fetch, of a tensor that is back, or that `status` kept away: what
  // is to be passed on.
  absl::StatusOr<tensorflow::Tensor> EndFetch(const absl::Status& status);
  // The same, and passes it on, when nothing else keeps `self` any more: a step
  // may end with that, and leaves nothing stored.
  static void PassOn(std::shared_ptr<SwappedTensor> self,
                     const absl::Status& status, const FetchDone& done);

  const tensorflow::DataType dtype_;
  const tensorflow::TensorShape shape_;
  const int64_t bytes_;
  const std::unique_ptr<TensorMover> mover_;
  const int64_t needed_at_;

  mutable std::mutex mutex_;
  std::optional<tensorflow::Tensor> resident_;  // None while it is away.
  std::shared_ptr<TensorStorage> storage_;      // nullptr: on no tier.
  bool cached_ = false;     // May leave when memory is needed.
  bool in_cache_ = false;   // The cache may ask it to.
  bool leaving_ = false;    // A copy out is under way.
  bool returning_ = false;  // A copy in is under way.
  bool was_away_ = false;   // Since the last fetch, a copy in has begun.
  int fetches_ = 0;         // Begun, not ended: it may not leave.
  bool abandoned_ = false;
  bool let_go_ = false;  // Abandoned for good.
  absl::Status failed_;  // Why the latest attempt to bring it back failed.
  Callbacks when_out_;
  Callbacks when_back_;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_SWAPPED_TENSOR_H_
