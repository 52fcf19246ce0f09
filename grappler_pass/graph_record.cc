// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/graph_record.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/allocator/arena_allocator.h"
#include "cc/core/bytes.h"

namespace sn_tf {
namespace {

using tensorflow::TensorShape;

// A measured peak above this share of the budget calls for a new plan though
// the present one moves nothing.
constexpr double kTightShare = 0.97;

}  // namespace

GraphRecord::GraphRecord(std::string function)
    : function_(std::move(function)) {}

GraphRecord::~GraphRecord() {
  if (tracing_) CpuArena()->StopTrace();
}

GraphKnowledge GraphRecord::Knowledge() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return knowledge_;
}

void GraphRecord::SetPlan(const PlannedGraph& planned,
                          const PlannerOptions& options,
                          const tensorflow::grappler::GrapplerItem& item,
                          std::shared_ptr<Session> session) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool measured = knowledge_.profile.has_value();
  const bool limited = options.budget_bytes > 0 && options.policy != "liveness";
  state_ = limited && !measured ? State::kProvisional : State::kSettled;
  sizes_assumed_ = !planned.inputs.empty() && knowledge_.dims.empty();
  options_ = options;
  session_ = std::move(session);
  schedule_ = planned.plan.schedule;
  plan_moves_ = planned.provisional;
  item_.reset();
  if (state_ == State::kProvisional && sizes_assumed_) {
    item_ = std::make_unique<tensorflow::grappler::GrapplerItem>(item);
  }
}

void GraphRecord::Refuse(const PlannedGraph& planned) {
  const std::lock_guard<std::mutex> lock(mutex_);
  state_ = State::kInfeasible;
  refusal_ = absl::ResourceExhaustedError(InfeasibleMessage(planned));
}

absl::Status GraphRecord::OnStepBegin(int64_t step_id,
                                      const std::vector<TensorShape>& shapes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_ == State::kInfeasible) return refusal_;
  const bool grew = Grew(shapes);
  if (grew && item_ != nullptr) {
    const absl::Status status = CheckFeasible();
    if (!status.ok()) return status;
  }
  const bool limited =
      options_.budget_bytes > 0 && options_.policy != "liveness";
  if (grew && limited) state_ = State::kProvisional;
  if (state_ == State::kProvisional) BeginTrace(step_id);
  return absl::OkStatus();
}

bool GraphRecord::Grew(const std::vector<TensorShape>& shapes) {
  StepInputDims& known = knowledge_.dims;
  bool grew = known.size() != shapes.size();
  known.resize(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    known[i].resize(shapes[i].dims(), 0);
    for (int d = 0; d < shapes[i].dims(); ++d) {
      const int64_t size = shapes[i].dim_size(d);
      grew = grew || size > known[i][d];
      known[i][d] = std::max(known[i][d], size);
    }
    if (!known[i].empty() && session_ != nullptr) {
      session_->SawBatchSize(known[i][0]);
    }
  }
  return grew;
}

absl::Status GraphRecord::CheckFeasible() {
  GraphKnowledge knowledge = knowledge_;
  knowledge.in_use_bytes = CpuArena()->stats().arena.in_use_bytes;
  const auto planned = PlanGraph(*item_, options_, knowledge);
  if (!planned.ok() || planned->plan.feasible) return absl::OkStatus();
  if (session_ != nullptr) {
    PlanReport report = ReportOf(planned->imported.memory, planned->plan);
    report.function = function_;
    report.policy = options_.policy;
    report.reason = InfeasibleMessage(*planned);
    session_->SetReport(std::move(report));
  }
  return absl::ResourceExhaustedError(InfeasibleMessage(*planned));
}

void GraphRecord::BeginTrace(int64_t step_id) {
  if (tracing_) CpuArena()->StopTrace();  // Of a step that failed.
  CpuArena()->StartTrace();
  tracing_ = true;
  traced_step_ = step_id;
  trace_begin_bytes_ = CpuArena()->stats().arena.in_use_bytes;
}

void GraphRecord::OnStepEnd(int64_t step_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!tracing_ || step_id != traced_step_) return;
  tracing_ = false;
  StepProfile profile =
      DigestTrace(CpuArena()->StopTrace(), step_id, trace_begin_bytes_);
  const bool tight = static_cast<double>(profile.peak_bytes) >
                     kTightShare * static_cast<double>(options_.budget_bytes);
  knowledge_.profile = std::move(profile);
  knowledge_.profiled_schedule = schedule_;
  state_ = State::kSettled;
  item_.reset();
  if ((plan_moves_ || tight) && session_ != nullptr) {
    session_->WantNewGeneration();
  }
}

std::string InfeasibleMessage(const PlannedGraph& planned) {
  const MemoryPlan& plan = planned.plan;
  const std::string op =
      plan.limiting_op == kNone
          ? "no op"
          : absl::StrCat(
                planned.imported.memory.ops[plan.limiting_op].name, " (",
                planned.imported.memory.ops[plan.limiting_op].type, ")");
  return absl::StrCat(
      kInfeasible, ": received a budget of ", FormatBytes(plan.budget_bytes),
      " (", plan.budget_bytes, " bytes); the smallest feasible budget is ",
      FormatBytes(plan.peak_bytes), " (", plan.peak_bytes,
      " bytes), set by op ", op,
      ". No weight was changed in this step. Raise the budget to at least "
      "that, train with a smaller batch, or use smaller inputs.");
}

}  // namespace sn_tf
