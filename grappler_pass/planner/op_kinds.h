// SPDX-License-Identifier: Apache-2.0
//
// Kinds of ops, by their types, for the policies of the literature.
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_OP_KINDS_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_OP_KINDS_H_

#include "grappler_pass/planner/graph.h"

namespace sn_tf {

// The forward op, also where TensorFlow has merged into it what comes after.
bool IsConvolution(const Op& op);

// Of matrices, or of batches of them; the same.
bool IsMatrixProduct(const Op& op);

// Moves a variable out of the memory when all else is done with it, which
// nothing waits for. The same string as kStateOutOp of cc/ops/names.h.
bool IsStateOut(const Op& op);

// A sum or a concatenation.
bool IsJoin(const Op& op);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_OP_KINDS_H_
