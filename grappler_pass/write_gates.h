// SPDX-License-Identifier: Apache-2.0
//
// Nothing is written before the observer has agreed to what was computed for
// it, since that may be the fruit of refused memory.
#ifndef SN_TF_GRAPPLER_PASS_WRITE_GATES_H_
#define SN_TF_GRAPPLER_PASS_WRITE_GATES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Adds SnObserve nodes of the phase of writes to a graph whose nodes are being
// put in order.
class WriteGates {
 public:
  using Names = std::vector<std::string>;

  // Of nodes on `device`; `observer` 0: writes need no consent.
  WriteGates(std::string device, int64_t observer, tensorflow::GraphDef* graph)
      : device_(std::move(device)), observer_(observer), graph_(*graph) {}

  bool are_wanted() const { return observer_ != 0; }

  // Adds a gate behind `after` alone; returns its name.
  std::string Add(const Names& after);

  // Adds one behind `frontier` and all that has been fetched, for the writes
  // that follow; returns its name.
  std::string Renew(const Names& frontier);

  // Makes `write` wait for the latest gate, or for a new one where anything has
  // run since.
  void Guard(const Names& frontier, tensorflow::NodeDef* write);

  // A node was put in order, one that writes state or another.
  void NoteOrdered(bool writes);

  // `node` runs beside what is in order, until the next node is put there.
  void NoteFetched(const std::string& node);

 private:
  const std::string device_;
  const int64_t observer_;
  tensorflow::GraphDef& graph_;
  std::string latest_;  // Empty: the next write needs a new one.
  int count_ = 0;
  Names fetched_;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_WRITE_GATES_H_
