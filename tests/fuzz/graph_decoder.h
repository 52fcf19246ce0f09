// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_TESTS_FUZZ_GRAPH_DECODER_H_
#define SN_TF_TESTS_FUZZ_GRAPH_DECODER_H_

#include "grappler_pass/planner/graph.h"
#include "tests/fuzz/byte_reader.h"

namespace sn_tf {

// A graph that keeps what graph.h demands of graphs, and beyond that is what
// the bytes say: up to 40 ops that read and write buffers of any size, views of
// variables and their updates, workspaces, pairs to be fused, edges by control,
// in any numbering. Some have a cycle.
MemoryGraph DecodeGraph(ByteReader* bytes);

}  // namespace sn_tf

#endif  // SN_TF_TESTS_FUZZ_GRAPH_DECODER_H_
