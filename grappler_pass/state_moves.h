// SPDX-License-Identifier: Apache-2.0
//
// Moves of variables: optimizer state is used for a moment of each step, when
// its weight is updated, and may be out of the device's memory the rest of the
// time. A variable that moves is a buffer like others then: SnStateIn writes
// it, and SnStateOut reads it last.
#ifndef SN_TF_GRAPPLER_PASS_STATE_MOVES_H_
#define SN_TF_GRAPPLER_PASS_STATE_MOVES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "grappler_pass/import.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace sn_tf {

// A variable that may move.
struct StateMove {
  std::string variable;  // The tensor that is its handle.
  std::string device;    // Of the nodes that use it.
  int64_t bytes = 0;
  // Used by elementwise ops only, as an optimizer's variables are.
  bool slot = true;
  std::vector<std::string> users;    // Nodes that read or write it.
  std::vector<std::string> readers;  // That use what was read of it.
};

// The variables of at least `least_bytes` whose uses lie close together in
// every order of the graph: slots, then others, the largest first. `imported`
// is of `graph`, which moves none yet.
std::vector<StateMove> FindStateMoves(const tensorflow::GraphDef& graph,
                                      const ImportedGraph& imported,
                                      int64_t least_bytes);

// How much `moves` are together.
int64_t BytesOf(const std::vector<StateMove>& moves);

// Where variables move.
struct StateTiers {
  std::string tiers;
  std::string swap_dir;
};

// Of a list of tiers as PlannerOptions have it, those that variables of
// `device` can lie on as memory; empty: none.
std::string AddressableTiers(const std::string& tiers,
                             const std::string& device);

// Adds nodes to the graph: the first `count` of `moves` are out but for their
// use, others are brought in before the step.
void InsertStateMoves(const std::vector<StateMove>& moves, size_t count,
                      const StateTiers& where, tensorflow::GraphDef* graph);

// Takes away what InsertStateMoves has added for variables of `device`.
void RemoveStateMoves(const std::string& device, tensorflow::GraphDef* graph);

// The variables of `device` that the graph moves.
std::set<std::string> MovedVariables(const std::string& device,
                                     const tensorflow::GraphDef& graph);

// Lets the observation that a step of `device` begins wait until what is to be
// out at that time is, and then until what is to be in is as far as possible.
void MoveStateBeforeStep(const std::string& device,
                         tensorflow::GraphDef* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_STATE_MOVES_H_
