// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_PLAN_GRAPH_H_
#define SN_TF_GRAPPLER_PASS_PLAN_GRAPH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cc/core/arena.h"
#include "grappler_pass/import.h"
#include "grappler_pass/op_timer.h"
#include "grappler_pass/planner/options.h"
#include "grappler_pass/planner/plan.h"
#include "grappler_pass/state_moves.h"
#include "grappler_pass/step_profile.h"
#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/grappler/grappler_item.h"

namespace sn_tf {

// A schedule that outlives its MemoryGraph: items refer to ops and buffers by
// name. Buffers are numbered anew when other sizes become known.
struct NamedItem {
  ItemKind kind = ItemKind::kRun;
  std::string name;
};
using NamedSchedule = std::vector<NamedItem>;

NamedSchedule NamesOf(const MemoryGraph& graph, const Schedule& schedule);

// What is known of a graph when it is planned.
struct GraphKnowledge {
  // Dimensions of the unknown step inputs; empty: not known yet.
  StepInputDims dims;
  // Of a finished step; none: not measured yet.
  std::optional<StepProfile> profile;
  // The schedule which that step ran.
  NamedSchedule profiled_schedule;
  // Of timed steps; none: estimated.
  std::optional<OpSeconds> op_seconds;
  // In use before the step, now or at most; 0: what was when the measured step
  // began.
  int64_t in_use_bytes = 0;
  // In use now, and bytes of variables that are out of the memory now.
  int64_t in_use_now_bytes = 0;
  int64_t state_outside_bytes = 0;
  // What the profiled step moved of variables, which were out when it began.
  std::vector<StateMove> profiled_moves;
  // See ImportedGraph; none: to be found.
  std::optional<int64_t> unexplained_bytes;
  // Free bytes that were of no use to a step, because they were in pieces.
  int64_t scattered_bytes = 0;

  // Whether a step has been measured to its end.
  bool measured() const { return profile.has_value() && profile->complete; }
};

struct PlannedGraph {
  std::vector<StepInput> inputs;  // The step inputs not fully known.
  ImportedGraph imported;
  MemoryPlan plan;
  // With what moves variables, where any are or were moved: the graph that
  // `imported` is of.
  std::optional<tensorflow::GraphDef> graph;
  std::vector<StateMove> moves;  // Variables that are out but for their use.
  // Made before a step was measured, to be as small as it can be.
  bool provisional = false;
};

// What a plan of `schedule`, which was made with other knowledge, comes to.
absl::StatusOr<PlannedGraph> PlanOf(
    const tensorflow::grappler::GrapplerItem& item,
    const PlannerOptions& options, const GraphKnowledge& knowledge,
    const NamedSchedule& schedule);

// Infers shapes, imports, plans and verifies. `item` has had SplitSums, and
// variables move as they do in it. Where the result's imported.unsupported is
// set, there is no plan. An error means that the planner is at fault: the graph
// must be left as it is.
absl::StatusOr<PlannedGraph> PlanAsGiven(
    const tensorflow::grappler::GrapplerItem& item,
    const PlannerOptions& options, const GraphKnowledge& knowledge);

// The same, but variables move only where no plan does without that, and then
// the largest first: the result's `graph` moves them. See plan_state.cc.
absl::StatusOr<PlannedGraph> PlanGraph(
    const tensorflow::grappler::GrapplerItem& item,
    const PlannerOptions& options, const GraphKnowledge& knowledge);

// The same for a device of which `arena` is all the memory there is: plans for
// less than the budget as long as some buffer would find no place in it. Where
// no lower budget helps, the plan for the budget stands.
absl::StatusOr<PlannedGraph> PlanIntoArena(
    const tensorflow::grappler::GrapplerItem& item,
    const PlannerOptions& options, const GraphKnowledge& knowledge,
    const Arena& arena);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLAN_GRAPH_H_
