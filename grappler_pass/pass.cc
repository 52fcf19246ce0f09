// SPDX-License-Identifier: Apache-2.0
//
// The Grappler optimizer: import -> route -> plan -> verify -> rewrite.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cc/allocator/arena_allocator.h"
#include "cc/allocator/arenas.h"
#include "cc/ops/names.h"
#include "cc/ops/observer.h"
#include "grappler_pass/cycle.h"
#include "grappler_pass/graph_record.h"
#include "grappler_pass/keep_random_state.h"
#include "grappler_pass/observe_nodes.h"
#include "grappler_pass/plan_graph.h"
#include "grappler_pass/planner/phases.h"
#include "grappler_pass/region.h"
#include "grappler_pass/rewrite.h"
#include "grappler_pass/session.h"
#include "grappler_pass/split_sums.h"
#include "grappler_pass/state_moves.h"
#include "grappler_pass/unfold_constants.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/grappler/clusters/cluster.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer_registry.h"
#include "tensorflow/core/platform/logging.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::grappler::GrapplerItem;

// Graphs whose buffers come to less are left alone, whatever the budget.
constexpr int64_t kTrivialBytes = 1 << 20;

// What Grappler calls every graph of a tf.compat.v1.Session. Those are
// instantiated once.
constexpr char kV1GraphId[] = "tf_graph";

// Grappler runs its optimizers this often on a graph; Python sets the number.
// Only the last run rewrites, so that no optimizer comes after it.
constexpr int kIterations = 2;

uint64_t FingerprintOf(const GraphDef& graph) {
  uint64_t fingerprint = 0;
  for (const tensorflow::NodeDef& node : graph.node()) {
    // What was added for another device changes with that one's plans.
    if (absl::StartsWith(node.name(), kNodePrefix)) continue;
    // Order-independent: Grappler may list the nodes differently next time.
    fingerprint += absl::HashOf(node.name());
  }
  return fingerprint;
}

int64_t TotalBytes(const MemoryGraph& graph) {
  int64_t total = 0;
  for (const Buffer& buffer : graph.buffers) {
    if (!buffer.view) total += buffer.bytes;
  }
  return total;
}

class SuperNeuronsPass : public tensorflow::grappler::CustomGraphOptimizer {
 public:
  absl::Status Init(
      const tensorflow::RewriterConfig_CustomGraphOptimizer* config) override {
    std::map<std::string, std::string> values;
    if (config != nullptr) {
      for (const auto& [name, value] : config->parameter_map()) {
        values[name] = value.s();
      }
    }
    const std::string error = ParseOptions(values, &options_);
    return error.empty() ? absl::OkStatus() : absl::InvalidArgumentError(error);
  }

  std::string name() const override { return kPassName; }
  bool UsesFunctionLibrary() const override { return false; }

  absl::Status Optimize(tensorflow::grappler::Cluster* /*cluster*/,
                        const GrapplerItem& item,
                        GraphDef* optimized) override {
    if (++calls_ < kIterations || IsObserved(item.graph, options_.device)) {
      // By this Grappler's own optimizers say that they have changed nothing,
      // which spares a copy of the graph.
      return absl::AbortedError("there is nothing to plan");
    }
    optimized->Clear();
    const absl::Status status = Rewrite(item, optimized);
    if (!status.ok()) {
      LOG(WARNING) << "sn_tf leaves " << item.id << " as it is: " << status;
      ReportReason(item, std::string(status.message()));
      optimized->Clear();
    }
    if (optimized->node().empty()) *optimized = item.graph;
    // Also where nothing was planned: other graphs' generations make new
    // instances of all.
    if (item.id != kV1GraphId) KeepRandomState(item.id, optimized);
    return absl::OkStatus();
  }

 private:
  absl::Status Rewrite(const GrapplerItem& item, GraphDef* optimized) {
    const auto begin = std::chrono::steady_clock::now();
    const ArenaAllocator* const arena = FindArena(options_.device);
    if (arena == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("no arena manages device ", options_.device));
    }
    session_ = FindSession(options_.session);
    GraphDef split_graph = item.graph;
    SplitSums(&split_graph);
    GrapplerItem split = item.WithGraph(std::move(split_graph));
    TF_RETURN_IF_ERROR(UnfoldConstants(&split));
    absl::StatusOr<std::optional<Region>> region = FindRegion(split);
    if (!region.ok()) return region.status();
    GrapplerItem& step = region->has_value() ? (*region)->item : split;
    const std::shared_ptr<GraphRecord> record =
        session_ != nullptr
            ? session_->Record(item.id, FingerprintOf(step.graph))
            : std::make_shared<GraphRecord>(item.id);
    GraphKnowledge knowledge = record->Knowledge();
    PlannerOptions options = options_;
    if (options.batch_size == 0 && session_ != nullptr) {
      options.batch_size = session_->seen_batch_size();
    }
    const absl::StatusOr<PlannedGraph> planned =
        PlanForNow(step, options, std::move(knowledge), *arena);
    if (!planned.ok()) return planned.status();
    if (!planned->imported.unsupported.empty()) {
      ReportReason(item, planned->imported.unsupported);
      return absl::OkStatus();
    }
    if (TotalBytes(planned->imported.memory) < kTrivialBytes &&
        planned->imported.unknown_outputs == 0) {
      return absl::OkStatus();
    }
    if (!planned->plan.feasible && planned->imported.MayNeedLess()) {
      ReportReason(
          item,
          "no plan is sure to fit, because of all that loops and conditionals "
          "may need: the graph is left as it is, and may fit all the same");
      return absl::OkStatus();
    }
    if (planned->graph.has_value()) step.graph = *planned->graph;
    const int64_t observer = RegisterObserver(record);
    if (session_ != nullptr) session_->OwnObserver(observer);
    if (planned->plan.feasible) {
      const PhaseTimer timer(Phase::kRewrite);
      *optimized =
          RewriteGraph(step.graph, planned->imported, planned->plan,
                       planned->inputs, {observer, observer, observer},
                       {TiersOf(options), options.swap_dir,
                        planned->plan.departure == Departure::kWhenNeeded});
      if (options.budget_bytes > 0) KeepBatches(observer, optimized);
      MoveStateBeforeStep(options.device, optimized);
    } else {
      Guard(step.graph, *planned, observer, optimized);
    }
    if (region->has_value()) {
      absl::StatusOr<GraphDef> whole =
          PutBack(split.graph, **region, *optimized);
      if (!whole.ok()) return whole.status();
      *optimized = *std::move(whole);
    }
    TF_RETURN_IF_ERROR(CheckRuns(*optimized));
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    record->SetPlan(*planned, options, std::move(step), session_,
                    seconds.count());
    return absl::OkStatus();
  }

  // TensorFlow would refuse a graph whose nodes wait for one another, and the
  // training with it.
  static absl::Status CheckRuns(const GraphDef& graph) {
    const std::vector<std::string> cycle = FindCycle(graph);
    if (cycle.empty()) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat("with the plan, ops would wait for one another: ",
                     absl::StrJoin(cycle, " for ")));
  }

  // Plans with what is in use now, or was when a step began. Where that leaves
  // no room for any plan, because of a step that runs beside this or of what is
  // about to be freed, with what was in use when the measured step began.
  static absl::StatusOr<PlannedGraph> PlanForNow(const GrapplerItem& item,
                                                 const PlannerOptions& options,
                                                 GraphKnowledge knowledge,
                                                 const ArenaAllocator& arena) {
    const auto plan = [&] {
      return arena.is_all_memory()
                 ? PlanIntoArena(item, options, knowledge, arena.Snapshot())
                 : PlanGraph(item, options, knowledge);
    };
    knowledge.in_use_now_bytes = arena.stats().arena.in_use_bytes;
    knowledge.state_outside_bytes = arena.state_outside_bytes();
    knowledge.in_use_bytes =
        std::max(knowledge.in_use_bytes, knowledge.in_use_now_bytes);
    absl::StatusOr<PlannedGraph> planned = plan();
    if (!knowledge.profile.has_value() || !planned.ok() ||
        planned->plan.feasible) {
      return planned;
    }
    knowledge.in_use_bytes = knowledge.in_use_now_bytes = 0;
    return plan();
  }

  // The graph stays as it is, but no step of it gets past its beginning.
  static void Guard(const GraphDef& graph, const PlannedGraph& planned,
                    int64_t observer, GraphDef* optimized) {
    *optimized = graph;
    const std::string observe =
        AddObserveNode(optimized, planned.imported.DeviceOf(graph),
                       planned.inputs, observer, kPhaseBegin);
    HoldBack(optimized, FeedsInputs(graph, planned.inputs), observe);
  }

  // Publishes why nothing is planned.
  void ReportReason(const GrapplerItem& item, std::string reason) const {
    if (session_ == nullptr) return;
    PlanReport report;
    report.function = item.id;
    report.device = options_.device;
    report.policy = options_.policy;
    report.budget_bytes = options_.budget_bytes;
    report.generation = options_.generation;
    report.reason = std::move(reason);
    session_->ForgetReport(item.id);  // And the graph of an earlier plan.
    session_->SetReport(std::move(report));
  }

  PlannerOptions options_;
  std::shared_ptr<Session> session_;
  int calls_ = 0;
};

REGISTER_GRAPH_OPTIMIZER_AS(SuperNeuronsPass, kPassName);

}  // namespace
}  // namespace sn_tf
