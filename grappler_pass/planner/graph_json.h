// SPDX-License-Identifier: Apache-2.0
//
// Graphs as JSON text: what a planner outside the library (sn_tf/optimal)
// gets to know of a step, and hands back to have plans made or judged. The same
// graph gives the same text.
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_GRAPH_JSON_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_GRAPH_JSON_H_

#include <string>
#include <string_view>

#include "cc/core/json.h"
#include "cc/core/json_value.h"
#include "grappler_pass/planner/graph.h"
#include "grappler_pass/planner/options.h"

namespace sn_tf {

// A JSON object:
//   options  those that plans depend on, by name: budget_bytes policy tiers
//            min_buffer_bytes link_bandwidth_bytes_per_s
//   resident_bytes
//   route    ids of the ops, in the order in which every plan runs them
//   ops      an object each: name type after soft_after reads writes
//            workspace_bytes in_place_output in_place_inputs seconds pure
//            partner
//   buffers  an object each: name bytes producer movable view apart_seconds
//            overwriter
// The fields are those of graph.h; an id is an index into `ops` or `buffers`.
void WriteJson(const MemoryGraph& graph, const PlannerOptions& options,
               JsonWriter* json);

// The graph of such an object, of which `resident_bytes`, `ops` and `buffers`
// are read; the route follows from them. Returns an empty string, or what is
// wrong with it; `*graph` is unspecified then. A graph that is taken can be
// planned: it has no cycle, and its route runs no op before one whose buffer it
// reads.
std::string ReadGraph(const JsonValue& json, MemoryGraph* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_GRAPH_JSON_H_
