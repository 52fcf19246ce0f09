// SPDX-License-Identifier: Apache-2.0
//
// Graphs written by hand for tests, with sizes and times that can be added up
// in one's head.
#ifndef SN_TF_TESTS_CC_SMALL_GRAPH_H_
#define SN_TF_TESTS_CC_SMALL_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "grappler_pass/planner/graph.h"

namespace sn_tf {

// Adds ops in order; names stand for ids.
class SmallGraph {
 public:
  struct Traits {
    int64_t bytes = 0;  // Of the one buffer it writes; 0: writes none.
    bool pure = true;
    double seconds = 1;
    int64_t workspace_bytes = 0;
  };

  // An op that reads the buffers of `reads`.
  OpId Add(const std::string& name, const std::vector<std::string>& reads,
           const Traits& traits);

  // `op` runs after `before`, by control.
  void After(const std::string& op, const std::string& before);

  // `op` writes over the buffer of each of `reads`, where they are free.
  void WriteInPlace(const std::string& op,
                    const std::vector<std::string>& reads);

  Op& op(const std::string& name) { return graph_.ops[ids_.at(name)]; }
  Buffer& buffer(const std::string& op_name) {
    return graph_.buffers[op(op_name).writes.at(0)];
  }
  OpId id(const std::string& name) const { return ids_.at(name); }
  BufferId buffer_id(const std::string& name) const {
    return graph_.ops[ids_.at(name)].writes.at(0);
  }

  MemoryGraph Build(int64_t resident_bytes = 0);

 private:
  MemoryGraph graph_;
  std::map<std::string, OpId> ids_;
};

// f1 -> f2 -> f3 -> loss, then b3, b2, b1, each reading the gradient before it
// and its layer's input; every buffer of 100 bytes, every op of one second.
SmallGraph ThreeLayers();

// A residual network of so many blocks: a convolution of 1 s, a normalization
// and an activation of 0.1 s each, and a sum with the block's input; every
// buffer of 1000 bytes.
MemoryGraph ResidualNetwork(int blocks);

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_SMALL_GRAPH_H_
