// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_FUSIBLE_H_
#define SN_TF_GRAPPLER_PASS_FUSIBLE_H_

#include "grappler_pass/import.h"

namespace sn_tf {

// Makes partners of ops that TensorFlow may fuse after this pass: its layout
// pass for CPUs merges the two gradients of a convolution with bias that read
// the same tensor.
void PairFusible(ImportedGraph* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_FUSIBLE_H_
