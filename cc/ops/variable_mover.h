// SPDX-License-Identifier: Apache-2.0
//
// Moves what a variable holds out of the memory of its device and back, under
// the variable's own lock.
#ifndef SN_TF_CC_OPS_VARIABLE_MOVER_H_
#define SN_TF_CC_OPS_VARIABLE_MOVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cc/ops/tensor_mover.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tensorflow/core/lib/core/refcount.h"

namespace sn_tf {

using VariableRef = tensorflow::core::RefCountPtr<tensorflow::Var>;

// Both return at once and call `done` exactly once, on any thread, possibly
// before they return. What cannot move stays, and is what it was: a variable
// that is assigned meanwhile keeps what it was assigned.

// Moves `variable` out by `mover`. Where others refer to its memory, that is
// free when the last of them lets go.
void MoveVariableOut(tensorflow::OpKernelContext* context, VariableRef variable,
                     std::shared_ptr<TensorMover> mover,
                     std::function<void()> done);

// Moves `variable` back into memory that `context` allocates, if it is out.
// Without `may_wait`, only where there is memory now.
void MoveVariableIn(tensorflow::OpKernelContext* context, VariableRef variable,
                    bool may_wait, std::function<void()> done);

// The variables of `device` ("CPU:0") that are out, in the order in which they
// were moved there.
std::vector<VariableRef> VariablesOutOf(const std::string& device);

// How a device is called in sn_tf: "CPU:0".
std::string ManagedNameOf(const tensorflow::OpKernelContext& context);

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_VARIABLE_MOVER_H_
