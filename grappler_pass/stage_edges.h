// SPDX-License-Identifier: Apache-2.0
//
// The control edges that keep a plan's stages apart.
#ifndef SN_TF_GRAPPLER_PASS_STAGE_EDGES_H_
#define SN_TF_GRAPPLER_PASS_STAGE_EDGES_H_

#include <set>
#include <string>
#include <vector>

#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// Told of the nodes in the order of the schedule, with their final inputs. A
// node that reads one of its own stage needs no edge from the stage before,
// and one that is read in its own stage needs none to the next.
class StageEdges {
 public:
  // Nodes of the first stage wait for `first`, unless it is empty.
  StageEdges(tensorflow::GraphDef* graph, const std::string& first);

  // Ends the stage, and begins the next.
  void NextStage();

  // `node` waits for the stage before and, of its own stage, for those of
  // `others` that have been added; the next stage waits for `node`.
  void Add(tensorflow::NodeDef* node, const std::vector<std::string>& others);

  // `node` waits for the stage before, and none for it but its readers.
  void AddUnawaited(tensorflow::NodeDef* node);

  // The next stage waits for the node of that name, which may have begun
  // earlier.
  void Await(const std::string& name) { awaited_.insert(name); }

 private:
  void WaitForLastStage(tensorflow::NodeDef* node) const;

  tensorflow::GraphDef* graph_;
  std::vector<std::string> last_;  // What stands for the stage before.
  std::set<std::string> stage_;    // Nodes that wait for it.
  std::set<std::string> awaited_;
  std::string device_;
  int barriers_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_STAGE_EDGES_H_
