// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/plan_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grappler_pass/delay_writes.h"
#include "grappler_pass/in_place.h"
#include "grappler_pass/measured_seconds.h"
#include "grappler_pass/moved_state.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/phases.h"
#include "grappler_pass/planner/placement_check.h"
#include "grappler_pass/planner/planner.h"
#include "grappler_pass/planner/verify.h"

namespace sn_tf {
namespace {

using tensorflow::grappler::GrapplerItem;

// Stand for unknown dimensions while a plan only has to be as small as it can
// be: large enough that activations outweigh what does not grow with them.
constexpr int64_t kAssumedBatch = 1024;
constexpr int64_t kAssumedDim = 64;

// What comes and goes around a step: metrics, results of the step before.
constexpr int64_t kSlackBytes = 128 * 1024;

// Room that an unmeasured plan leaves for workspaces when it moves nothing, in
// largest layers: an op may need copies of what it reads and writes.
constexpr int64_t kUnmeasuredLayers = 2;

// The unknown dimensions with `leading` as the first; empty where others are
// unknown too.
StepInputDims WithLeading(const std::vector<StepInput>& inputs,
                          int64_t leading) {
  StepInputDims all;
  for (const StepInput& input : inputs) {
    std::vector<int64_t> dims = input.dims;
    if (!dims.empty() && dims[0] < 0) dims[0] = leading;
    if (!input.known_rank || std::any_of(dims.begin(), dims.end(),
                                         [](int64_t dim) { return dim < 0; })) {
      return {};
    }
    all.push_back(std::move(dims));
  }
  return all;
}

StepInputDims Assumed(const std::vector<StepInput>& inputs) {
  StepInputDims all;
  for (const StepInput& input : inputs) {
    std::vector<int64_t> dims = input.dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] < 0) dims[d] = d == 0 ? kAssumedBatch : kAssumedDim;
    }
    all.push_back(std::move(dims));
  }
  return all;
}

// Budgets that are tried where memory is in pieces, each a share of the one
// before.
constexpr int kLowerBudgets = 12;
constexpr double kLowerShare = 0.98;

ImportOptions ImportOptionsOf(const GrapplerItem& item,
                              const std::string& device,
                              const GraphKnowledge& knowledge) {
  ImportOptions options;
  options.device = device;
  options.fetches = item.fetch;
  options.resident_bytes = knowledge.in_use_bytes;
  if (knowledge.profile.has_value()) {
    options.profile = &*knowledge.profile;
    // Input pipelines have gone on filling up since that step began.
    options.resident_bytes =
        std::max(knowledge.in_use_bytes, knowledge.profile->begin_bytes +
                                             knowledge.profile->kept_bytes +
                                             BytesOf(knowledge.profiled_moves));
  }
  return options;
}

// The schedule for this graph. Items of buffers that are too small to be
// followed now that their sizes are known fall away.
Schedule Resolve(const MemoryGraph& graph, const NamedSchedule& named) {
  std::map<std::string, int32_t> ops;
  std::map<std::string, int32_t> buffers;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    ops[graph.ops[i].name] = static_cast<int32_t>(i);
  }
  for (size_t b = 0; b < graph.buffers.size(); ++b) {
    buffers[graph.buffers[b].name] = static_cast<int32_t>(b);
  }
  Schedule schedule;
  for (const NamedItem& item : named) {
    const auto& ids = IsOp(item.kind) ? ops : buffers;
    const auto found = ids.find(item.name);
    if (found != ids.end()) schedule.push_back({item.kind, found->second});
  }
  return schedule;
}

// What the measured step needed beyond what its schedule explains: input
// pipelines filling up meanwhile, memory that aliases keep.
int64_t Unexplained(const StepProfile& profile, const Schedule& schedule,
                    const ImportedGraph& imported) {
  const int64_t explained =
      AnalyzeLiveness(imported.memory, schedule).peak_bytes() -
      imported.spare_bytes;
  return std::max<int64_t>(0, profile.peak_bytes - explained);
}

// What is spare does for that first.
void AddUnexplained(int64_t unexplained, ImportedGraph* imported) {
  const int64_t spared = std::min(imported->spare_bytes, unexplained);
  imported->spare_bytes -= spared;
  imported->memory.resident_bytes += kSlackBytes + unexplained - spared;
  imported->unexplained_bytes = unexplained;
}

// What is known, and what a measured step tells, beyond sizes. `unexplained`:
// see GraphKnowledge.
void Learn(const GraphKnowledge& knowledge, std::optional<int64_t> unexplained,
           ImportedGraph* imported) {
  AssumeInPlace(imported);
  if (!knowledge.profile.has_value()) return;
  const Schedule schedule =
      Resolve(imported->memory, knowledge.profiled_schedule);
  if (knowledge.profile->complete) {
    FindInPlace(*knowledge.profile, schedule, imported);
  }
  AddUnexplained(unexplained.has_value()
                     ? *unexplained
                     : Unexplained(*knowledge.profile, schedule, *imported),
                 imported);
}

// False where nothing is spare.
bool GiveUpSpare(ImportedGraph* imported) {
  if (imported->spare_bytes == 0) return false;
  imported->memory.resident_bytes -= std::exchange(imported->spare_bytes, 0);
  return true;
}

bool Fits(const MemoryGraph& graph, const MemoryPlan& plan,
          const PlannerOptions& options) {
  const int64_t largest_layer = graph.FloorBytes() - graph.resident_bytes;
  return plan.route_peak_bytes + kUnmeasuredLayers * largest_layer <=
         options.budget_bytes;
}

// The smallest plan. Where gradients can wait outside the arena, it writes no
// state before all else has run.
void PlanProvisionally(const tensorflow::GraphDef& graph,
                       const PlannerOptions& options, bool sizes_known,
                       PlannedGraph* planned) {
  const auto plan = [&options, sizes_known](const ImportedGraph& imported) {
    return sizes_known ? MakeSmallestPlan(imported.memory, options)
                       : MakeAssumedPlan(imported.memory, options,
                                         imported.before_writes);
  };
  planned->provisional = true;
  if (MaySwap(options)) {
    ImportedGraph delayed = planned->imported;
    DelayWrites(graph, planned->inputs, &delayed);
    planned->plan = plan(delayed);
    if (!sizes_known || planned->plan.peak_bytes <= options.budget_bytes) {
      planned->imported = std::move(delayed);
      return;
    }
  }
  planned->plan = plan(planned->imported);
}

// The plan, and whether it is provisional.
void Choose(const tensorflow::GraphDef& item_graph,
            const PlannerOptions& options, bool sizes_known, bool measured,
            PlannedGraph* planned) {
  const PhaseTimer timer(Phase::kPlan);
  const MemoryGraph& graph = planned->imported.memory;
  const bool moves = options.budget_bytes > 0 && options.policy != "liveness";
  if (!moves || measured) {
    PlannerOptions within = options;
    if (!sizes_known) within.budget_bytes = 0;  // Assumed sizes break any.
    planned->plan = MakePlan(graph, within);
    return;
  }
  PlannerOptions route_only = options;
  route_only.policy = "liveness";
  planned->plan = MakePlan(graph, route_only);
  const bool all_known = sizes_known && planned->imported.unknown_outputs == 0;
  if (all_known && !IgnoresBudget(options) &&
      Fits(graph, planned->plan, options)) {
    return;
  }
  PlanProvisionally(item_graph, options, sizes_known, planned);
  if (!sizes_known) return;
  planned->plan.budget_bytes = options.budget_bytes;
  planned->plan.feasible = planned->plan.peak_bytes <= options.budget_bytes;
  // It may be met all the same: MakePlan searches on.
  if (!planned->plan.feasible) planned->plan = MakePlan(graph, options);
}

// Whether variables move in `item` as they did in the measured step.
bool MovesAsProfiled(const GrapplerItem& item, const std::string& device,
                     const GraphKnowledge& knowledge) {
  std::set<std::string> profiled;
  for (const StateMove& move : knowledge.profiled_moves) {
    profiled.insert(move.variable);
  }
  return MovedVariables(device, item.graph) == profiled;
}

GrapplerItem AsProfiled(const GrapplerItem& item, const std::string& device,
                        const GraphKnowledge& knowledge) {
  tensorflow::GraphDef graph = item.graph;
  RemoveStateMoves(device, &graph);
  InsertStateMoves(knowledge.profiled_moves, knowledge.profiled_moves.size(),
                   {}, &graph);
  return item.WithGraph(std::move(graph));
}

// Everything of `planned` but the plan. `*sizes_known` is false where
// dimensions had to be assumed.
absl::Status Import(const GrapplerItem& item, const PlannerOptions& options,
                    const GraphKnowledge& knowledge, PlannedGraph* planned,
                    bool* sizes_known) {
  const PhaseTimer timer(Phase::kImport);
  absl::StatusOr<TensorInfos> infos = InferShapes(item, {}, {});
  if (!infos.ok()) return infos.status();
  planned->inputs = UnknownStepInputs(item.graph, *infos);
  StepInputDims dims = knowledge.dims;
  if (dims.empty() && options.batch_size > 0) {
    dims = WithLeading(planned->inputs, options.batch_size);
  }
  *sizes_known = planned->inputs.empty() || !dims.empty();
  if (!planned->inputs.empty()) {
    if (dims.empty()) dims = Assumed(planned->inputs);
    infos = InferShapes(item, planned->inputs, dims);
    if (!infos.ok()) return infos.status();
  }
  absl::StatusOr<ImportedGraph> imported = ImportGraph(
      item.graph, *infos, ImportOptionsOf(item, options.device, knowledge));
  if (!imported.ok()) return imported.status();
  planned->imported = *std::move(imported);
  if (!planned->imported.unsupported.empty()) return absl::OkStatus();
  const std::string error = planned->imported.memory.Validate();
  if (!error.empty()) return absl::InternalError(error);
  std::optional<int64_t> unexplained = knowledge.unexplained_bytes;
  if (knowledge.profile.has_value() && !unexplained.has_value() &&
      !MovesAsProfiled(item, options.device, knowledge)) {
    PlannedGraph profiled;
    TF_RETURN_IF_ERROR(Import(AsProfiled(item, options.device, knowledge),
                              options, knowledge, &profiled, sizes_known));
    unexplained = profiled.imported.unexplained_bytes;
  }
  Learn(knowledge, unexplained, &planned->imported);
  if (knowledge.op_seconds.has_value()) {
    SetMeasuredSeconds(*knowledge.op_seconds, &planned->imported.memory);
  }
  // Of kernels that wait for copies, no time is measured.
  SetStateSeconds(static_cast<double>(options.link_bandwidth_bytes_per_s),
                  &planned->imported);
  return absl::OkStatus();
}

}  // namespace

NamedSchedule NamesOf(const MemoryGraph& graph, const Schedule& schedule) {
  NamedSchedule named;
  named.reserve(schedule.size());
  for (const PlanItem& item : schedule) {
    named.push_back({item.kind, IsOp(item.kind) ? graph.ops[item.id].name
                                                : graph.buffers[item.id].name});
  }
  return named;
}

absl::StatusOr<PlannedGraph> PlanOf(const GrapplerItem& item,
                                    const PlannerOptions& options,
                                    const GraphKnowledge& knowledge,
                                    const NamedSchedule& schedule) {
  PlannedGraph planned;
  bool sizes_known;
  TF_RETURN_IF_ERROR(Import(item, options, knowledge, &planned, &sizes_known));
  const MemoryGraph& graph = planned.imported.memory;
  do {
    planned.plan = PlanOfSchedule(graph, options, Resolve(graph, schedule));
  } while (!planned.plan.feasible && GiveUpSpare(&planned.imported));
  return planned;
}

absl::StatusOr<PlannedGraph> PlanAsGiven(const GrapplerItem& item,
                                         const PlannerOptions& options,
                                         const GraphKnowledge& knowledge) {
  PlannedGraph planned;
  bool sizes_known;
  TF_RETURN_IF_ERROR(Import(item, options, knowledge, &planned, &sizes_known));
  if (!planned.imported.unsupported.empty()) return planned;
  const MemoryGraph& graph = planned.imported.memory;
  do {
    Choose(item.graph, options, sizes_known, knowledge.measured(), &planned);
  } while (!planned.plan.feasible && GiveUpSpare(&planned.imported));
  if (planned.plan.schedule.empty()) {
    return absl::InvalidArgumentError("the graph has a cycle");
  }
  const std::string error = VerifyPlan(graph, planned.plan);
  if (!error.empty()) {
    return absl::InternalError(absl::StrCat("plan rejected: ", error));
  }
  return planned;
}

absl::StatusOr<PlannedGraph> PlanIntoArena(const GrapplerItem& item,
                                           const PlannerOptions& options,
                                           const GraphKnowledge& knowledge,
                                           const Arena& arena) {
  absl::StatusOr<PlannedGraph> first = PlanGraph(item, options, knowledge);
  if (options.policy == "liveness" || options.budget_bytes == 0) return first;
  PlannerOptions lower = options;
  lower.budget_bytes = std::min(options.budget_bytes, arena.capacity_bytes()) -
                       knowledge.scattered_bytes;
  absl::StatusOr<PlannedGraph> planned =
      lower.budget_bytes == options.budget_bytes
          ? first
          : PlanGraph(item, lower, knowledge);
  for (int attempt = 0; attempt < kLowerBudgets; ++attempt) {
    if (!planned.ok() || !planned->plan.feasible) break;
    if (FindsPlaces(planned->imported.memory, planned->plan.schedule, arena)) {
      planned->plan.budget_bytes = options.budget_bytes;
      return planned;
    }
    lower.budget_bytes = static_cast<int64_t>(
        kLowerShare * static_cast<double>(std::min(lower.budget_bytes,
                                                   planned->plan.peak_bytes)));
    planned = PlanGraph(item, lower, knowledge);
  }
  return first;
}

}  // namespace sn_tf
