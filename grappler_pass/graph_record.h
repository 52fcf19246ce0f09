// SPDX-License-Identifier: Apache-2.0
//
// One graph of a session from its first plan to its last.
//
//   kProvisional  planned before a step was measured. The next step is traced,
//                 then a new generation is wanted: TensorFlow instantiates the
//                 function anew, and the pass plans from what was measured.
//   kSettled      planned from a measured step, or in need of no better plan.
//                 Falls back to kProvisional when a step's inputs have grown.
//                 Where it moves something, some steps are timed, and a plan
//                 made from their times takes its place if that is worth it.
//   kInfeasible   no plan meets the budget: every step is refused.
#ifndef SN_TF_GRAPPLER_PASS_GRAPH_RECORD_H_
#define SN_TF_GRAPPLER_PASS_GRAPH_RECORD_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cc/ops/observer.h"
#include "grappler_pass/cost_sampler.h"
#include "grappler_pass/kept_batches.h"
#include "grappler_pass/plan_graph.h"
#include "grappler_pass/session.h"
#include "grappler_pass/step_sinks.h"

namespace sn_tf {

class GraphRecord : public StepObserver {
 public:
  explicit GraphRecord(std::string function);
  ~GraphRecord() override;

  // What is known now; for PlanGraph.
  GraphKnowledge Knowledge() const;

  // Takes note of the plan that the graph's next instance runs, made in
  // `plan_seconds`, and publishes its report. Where the plan is infeasible,
  // each step is refused. `item` is kept until a step has been measured.
  void SetPlan(const PlannedGraph& planned, const PlannerOptions& options,
               tensorflow::grappler::GrapplerItem item,
               const std::shared_ptr<Session>& session, double plan_seconds);

  absl::Status OnStepBegin(
      int64_t step_id,
      const std::vector<tensorflow::TensorShape>& shapes) override;
  absl::Status OnBeforeWrites(int64_t step_id) override;
  absl::Status OnStepEnd(int64_t step_id) override;
  void KeepBatch(const std::string& node,
                 std::vector<tensorflow::Tensor> batch) override;
  std::optional<std::vector<tensorflow::Tensor>> TakeBatch(
      const std::string& node) override;

  // Wants another plan where there is none that meets the budget, but less
  // memory is in use than when that was found.
  void ReconsiderInfeasible();

  // A step ran out of memory. Where one of this graph was being measured, what
  // it got to tells whether any plan would have done.
  void OnStepFailed();

  // Lets the next step have the batches of the one that has just failed. False
  // where that may have changed something, or would fail again.
  bool RepeatStep();

  const std::string& function() const { return function_; }

 private:
  enum class State { kProvisional, kSettled, kInfeasible };

  // With the most that a step has found in use: a plan may be made while input
  // pipelines hold less than they will.
  GraphKnowledge KnowledgeForPlan() const;
  // NoteDims; tells the session of batch sizes.
  std::optional<double> Grew(
      const std::vector<tensorflow::TensorShape>& shapes);
  // Whether the present plan serves for inputs that have grown from `before`;
  // if not, the next is made for them, or where none has room for them, all is
  // as it was.
  absl::Status CheckLarger(double growth, StepInputDims before);
  // Plans with the dimensions just observed; an error where the budget cannot
  // be met.
  absl::Status CheckFeasible();
  // Publishes what the measured step says of the plan that stays.
  void RefreshReport();
  // Asks for a plan made from op times where it beats the present one by more
  // than a new instance costs.
  void ConsiderTimes(OpSeconds seconds);
  // Notes what is in use. Asks for a plan with more room where more is in use
  // than it was made for.
  void CheckResident();
  void Publish(const PlannedGraph& planned, double plan_seconds) const;
  void BeginTrace(int64_t step_id);
  StepProfile EndTrace();
  // Fails a step that was refused memory.
  absl::Status RefusedMemory(int64_t step_id, const Refusal& refused);
  // What that means for the weights, and for the next step too: sentences.
  std::string WhatBecameOfWeights() const;
  std::string WhatBecameOf(const Refusal& refused) const;
  // In use now, with what the present plan has out of variables.
  int64_t InUse() const;
  // The same with all that is out of variables.
  int64_t WithStateOutside() const;
  void NoteResident(const PlannedGraph& planned);
  // The smallest budget that is known to do, with what has become resident.
  int64_t MinBudget() const;
  void NoteMinBudget(const PlannedGraph& planned);
  // No plan meets the budget: steps are refused.
  void SetInfeasible(const PlannedGraph& planned);
  // Plans anew where an allocation of that step was refused.
  void LearnFrom(StepProfile profile);

  const std::string function_;
  mutable std::mutex mutex_;
  State state_ = State::kProvisional;
  GraphKnowledge knowledge_;
  PlannerOptions options_;
  ArenaAllocator* arena_ = nullptr;  // Of the planned device; set by SetPlan.
  std::weak_ptr<Session> session_;   // It owns this record.
  std::unique_ptr<tensorflow::grappler::GrapplerItem> item_;
  StepSinks sinks_;
  KeptBatches batches_;               // Of the latest step.
  bool may_repeat_ = false;           // The latest step, which has failed.
  std::string verdict_;               // Why the budget is infeasible.
  int64_t refused_in_use_bytes_ = 0;  // When the budget was found infeasible.
  bool sizes_assumed_ = false;
  bool sizes_vary_ = false;
  // Variables that the present plan has out but for their use.
  std::vector<StateMove> moves_;
  // What the plan takes to be in use, with these, when a step begins, and how
  // often a step has found more.
  int64_t planned_resident_bytes_ = 0;
  int outgrown_ = 0;
  int64_t most_in_use_bytes_ = 0;
  // The smallest budget of the latest plan, and what was resident for it.
  int64_t min_budget_bytes_ = 0;
  int64_t min_budget_resident_bytes_ = 0;
  bool plan_moves_ = false;
  std::optional<CostSampler> sampler_;  // While op times are wanted.
  // What the present instance cost from its planning to its first step.
  double instance_seconds_ = 0;
  std::optional<std::chrono::steady_clock::time_point> planned_at_;
  bool delays_writes_ = false;
  bool writes_began_ = false;  // In the latest step.
  NamedSchedule schedule_;
  std::set<std::string> interior_;  // Ops inside of loops.
  int64_t traced_step_ = 0;
  bool tracing_ = false;
  int64_t trace_begin_bytes_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_GRAPH_RECORD_H_
