// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/graph_record.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/allocator/arena_allocator.h"
#include "cc/allocator/arenas.h"
#include "cc/core/bytes.h"
#include "grappler_pass/input_growth.h"
#include "grappler_pass/planned_report.h"
#include "grappler_pass/step_errors.h"
#include "grappler_pass/timed_choice.h"

namespace sn_tf {
namespace {

using tensorflow::TensorShape;

// A measured peak above this share of the budget calls for a new plan though
// the present one moves nothing.
constexpr double kTightShare = 0.97;

// What a step finds in use may creep up without end; plans may not follow.
constexpr int kMostReplans = 3;

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace

GraphRecord::GraphRecord(std::string function)
    : function_(std::move(function)) {}

GraphRecord::~GraphRecord() {
  if (tracing_) EndTrace();
}

GraphKnowledge GraphRecord::Knowledge() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return KnowledgeForPlan();
}

GraphKnowledge GraphRecord::KnowledgeForPlan() const {
  GraphKnowledge knowledge = knowledge_;
  knowledge.in_use_bytes = most_in_use_bytes_;
  return knowledge;
}

void GraphRecord::SetPlan(const PlannedGraph& planned,
                          const PlannerOptions& options,
                          tensorflow::grappler::GrapplerItem item,
                          const std::shared_ptr<Session>& session,
                          double plan_seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  options_ = options;
  arena_ = FindArena(options.device);
  session_ = session;
  schedule_ = NamesOf(planned.imported.memory, planned.plan.schedule);
  interior_ = planned.imported.LoopNames();
  plan_moves_ = planned.provisional || !planned.moves.empty();
  delays_writes_ = planned.imported.before_writes != kNone;
  moves_ = planned.moves;
  NoteResident(planned);
  NoteMinBudget(planned);
  sizes_assumed_ = !planned.inputs.empty() && knowledge_.dims.empty();
  state_ = knowledge_.measured() && !knowledge_.profile->scaled
               ? State::kSettled
               : State::kProvisional;
  sizes_vary_ = !planned.inputs.empty();
  item_.reset();
  instance_seconds_ = plan_seconds;
  planned_at_ = std::chrono::steady_clock::now();
  sampler_.reset();
  if (state_ == State::kSettled && !knowledge_.op_seconds.has_value() &&
      TimesWouldHelp(planned, options.device)) {
    sampler_.emplace();
  }
  if (state_ == State::kProvisional || sizes_vary_ || sampler_.has_value()) {
    item_ =
        std::make_unique<tensorflow::grappler::GrapplerItem>(std::move(item));
  }
  if (!planned.plan.feasible) SetInfeasible(planned);
  Publish(planned, plan_seconds);
}

void GraphRecord::Publish(const PlannedGraph& planned,
                          double plan_seconds) const {
  const std::shared_ptr<Session> session = session_.lock();
  if (session == nullptr) return;
  PlanReport report = ReportOfPlanned(
      planned, options_, knowledge_, sizes_assumed_ && knowledge_.dims.empty());
  report.function = function_;
  report.plan_seconds = plan_seconds;
  session->SetReport(std::move(report));
  session->SetGraph(function_, planned.imported.memory, options_);
}

absl::Status GraphRecord::OnStepBegin(int64_t step_id,
                                      const std::vector<TensorShape>& shapes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  arena_->MarkStepBegin();
  writes_began_ = may_repeat_ = false;
  if (planned_at_.has_value()) {
    instance_seconds_ += SecondsSince(*std::exchange(planned_at_, {}));
  }
  if (tracing_) LearnFrom(EndTrace());  // The step before did not end.
  sinks_.CloseFailed();
  if (state_ == State::kInfeasible) return StepRefused(verdict_);
  StepInputDims dims = knowledge_.dims;
  const std::optional<double> growth = Grew(shapes);
  if (growth.has_value() && item_ != nullptr) {
    const absl::Status status = CheckLarger(*growth, std::move(dims));
    if (!status.ok()) return status;
  }
  if (growth.has_value()) {
    state_ = State::kProvisional;
    knowledge_.op_seconds.reset();
    sampler_.reset();
  }
  if (state_ == State::kProvisional) {
    BeginTrace(step_id);
  } else {
    CheckResident();
    batches_.Drop();
  }
  if (sampler_.has_value()) sampler_->BeginStep(step_id);
  // What is computed in vain is not written: see OnBeforeWrites.
  if (options_.budget_bytes > 0) sinks_.Open(arena_, step_id);
  return absl::OkStatus();
}

void GraphRecord::CheckResident() {
  const int64_t in_use = InUse();
  most_in_use_bytes_ = std::max(most_in_use_bytes_, in_use);
  const std::shared_ptr<Session> session = session_.lock();
  if (in_use <= planned_resident_bytes_ || outgrown_ == kMostReplans ||
      options_.budget_bytes == 0 || !knowledge_.profile.has_value() ||
      session == nullptr) {
    return;
  }
  ++outgrown_;
  const int64_t grown = in_use - planned_resident_bytes_;
  knowledge_.profile->begin_bytes += grown;
  knowledge_.profile->peak_bytes += grown;
  planned_resident_bytes_ = in_use;
  session->WantNewGeneration();
}

std::optional<double> GraphRecord::Grew(
    const std::vector<TensorShape>& shapes) {
  const std::optional<double> growth = NoteDims(shapes, &knowledge_.dims);
  const std::shared_ptr<Session> session = session_.lock();
  if (session == nullptr) return growth;
  for (const std::vector<int64_t>& dims : knowledge_.dims) {
    if (!dims.empty()) session->SawBatchSize(dims[0]);
  }
  return growth;
}

absl::Status GraphRecord::CheckLarger(double growth, StepInputDims before) {
  if (!knowledge_.measured()) {
    const absl::Status status =
        sizes_assumed_ ? CheckFeasible() : absl::OkStatus();
    if (!status.ok()) knowledge_.dims = std::move(before);
    return status;
  }
  StepProfile measured = *knowledge_.profile;
  *knowledge_.profile =
      Grown(measured, growth, InUse() - BytesOf(knowledge_.profiled_moves));
  if (options_.budget_bytes == 0) return absl::OkStatus();
  const auto present = PlanOf(*item_, options_, knowledge_, schedule_);
  if (!present.ok()) return absl::OkStatus();
  const int64_t peak = present->plan.peak_bytes;
  if (peak <= options_.budget_bytes) return absl::OkStatus();
  const auto planned = PlanGraph(*item_, options_, knowledge_);
  if (!planned.ok()) return absl::OkStatus();
  if (!planned->plan.feasible) {
    Publish(*planned, 0);
    // As large inputs are refused again, and smaller ones planned as before.
    knowledge_.profile = std::move(measured);
    knowledge_.dims = std::move(before);
    return StepRefused(InfeasibleMessage(*planned));
  }
  const std::shared_ptr<Session> session = session_.lock();
  if (session != nullptr) session->WantNewGeneration();
  may_repeat_ = true;
  return LargerThanPlanned(peak, options_.budget_bytes);
}

absl::Status GraphRecord::CheckFeasible() {
  GraphKnowledge knowledge = knowledge_;
  knowledge.in_use_bytes = knowledge.in_use_now_bytes =
      arena_->stats().arena.in_use_bytes;
  knowledge.state_outside_bytes = arena_->state_outside_bytes();
  const auto planned = PlanGraph(*item_, options_, knowledge);
  if (!planned.ok() || planned->plan.feasible) return absl::OkStatus();
  Publish(*planned, 0);
  return StepRefused(InfeasibleMessage(*planned));
}

void GraphRecord::BeginTrace(int64_t step_id) {
  arena_->StartTrace();
  tracing_ = true;
  traced_step_ = step_id;
  trace_begin_bytes_ = arena_->stats().arena.in_use_bytes;
}

absl::Status GraphRecord::OnBeforeWrites(int64_t step_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::optional<Refusal> refused = sinks_.FirstRefusal(step_id);
  if (refused.has_value()) return RefusedMemory(step_id, *refused);
  writes_began_ = true;
  return absl::OkStatus();
}

void GraphRecord::NoteMinBudget(const PlannedGraph& planned) {
  const MemoryPlan& plan = planned.plan;
  // Where nothing has to move, no smaller plan was sought.
  min_budget_bytes_ =
      plan.min_budget_bytes > 0 ? plan.min_budget_bytes : plan.peak_bytes;
  min_budget_resident_bytes_ = planned.imported.memory.resident_bytes;
}

absl::Status GraphRecord::OnStepEnd(int64_t step_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::optional<Refusal> refused = sinks_.FirstRefusal(step_id);
  if (refused.has_value()) return RefusedMemory(step_id, *refused);
  sinks_.Close(step_id);
  batches_.Drop();
  if (sampler_.has_value()) {
    auto seconds = sampler_->EndStep(step_id);
    if (seconds.has_value()) ConsiderTimes(*std::move(seconds));
  }
  if (!tracing_ || step_id != traced_step_) return absl::OkStatus();
  StepProfile profile = EndTrace();
  profile.complete = true;
  const bool tight = static_cast<double>(profile.peak_bytes) >
                     kTightShare * static_cast<double>(options_.budget_bytes);
  knowledge_.profile = std::move(profile);
  knowledge_.profiled_schedule = schedule_;
  knowledge_.profiled_moves = moves_;
  state_ = State::kSettled;
  const bool limited =
      options_.budget_bytes > 0 && options_.policy != "liveness";
  const std::shared_ptr<Session> session = session_.lock();
  if (limited && (plan_moves_ || tight) && session != nullptr) {
    session->WantNewGeneration();
  } else if (item_ != nullptr) {
    RefreshReport();
  }
  if (!sizes_vary_) item_.reset();
  return absl::OkStatus();
}

StepProfile GraphRecord::EndTrace() {
  tracing_ = false;
  const bool sunk = sinks_.FirstRefusal(traced_step_).has_value();
  StepProfile profile = DigestTrace(arena_->StopTrace(), traced_step_,
                                    trace_begin_bytes_, interior_);
  if (sunk) profile.complete = false;
  return profile;
}

void GraphRecord::KeepBatch(const std::string& node,
                            std::vector<tensorflow::Tensor> batch) {
  batches_.Keep(node, std::move(batch));
}

std::optional<std::vector<tensorflow::Tensor>> GraphRecord::TakeBatch(
    const std::string& node) {
  return batches_.Take(node);
}

void GraphRecord::RefreshReport() {
  const auto begin = std::chrono::steady_clock::now();
  const auto planned = PlanGraph(*item_, options_, knowledge_);
  if (!planned.ok()) return;
  NoteResident(*planned);
  Publish(*planned, SecondsSince(begin));
}

void GraphRecord::ConsiderTimes(OpSeconds seconds) {
  sampler_.reset();
  const auto begin = std::chrono::steady_clock::now();
  knowledge_.op_seconds = std::move(seconds);
  const auto choice = ChooseByTimes(*item_, options_, KnowledgeForPlan(),
                                    schedule_, instance_seconds_);
  const std::shared_ptr<Session> session = session_.lock();
  if (!choice.ok() || session == nullptr) return;
  if (choice->replace) {
    session->WantNewGeneration();
    return;
  }
  Publish(choice->present, SecondsSince(begin));
  if (!sizes_vary_) item_.reset();
}

}  // namespace sn_tf
