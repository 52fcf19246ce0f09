// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_FUSIBLE_H_
#define SN_TF_GRAPPLER_PASS_FUSIBLE_H_

#include "grappler_pass/import.h"

namespace sn_tf {

// Makes partners of ops that TensorFlow may fuse after this pass: its layout
// pass for CPUs merges the two gradients of a convolution with bias that read
// the same tensor.
void PairFusible(ImportedGraph* graph);

// Sets Buffer::apart_seconds: the layout pass lets a pooling or a local
// response normalization keep a workspace for its gradient where the gradient
// reads the very output of it. Without, the gradient computes it again, slowly.
void PriceApart(ImportedGraph* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_FUSIBLE_H_
