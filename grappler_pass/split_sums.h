// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_SPLIT_SUMS_H_
#define SN_TF_GRAPPLER_PASS_SPLIT_SUMS_H_

#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Turns every AddN of three or more inputs into AddNs of two, in input order.
// AddN's kernel begins with whichever input it may overwrite, so its rounding
// depends on what else holds the inputs, that is on the plan; a sum of two
// does not. It also lets each gradient be added and freed as it comes.
void SplitSums(tensorflow::GraphDef* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_SPLIT_SUMS_H_
