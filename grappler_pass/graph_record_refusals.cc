// SPDX-License-Identifier: Apache-2.0
//
// What a graph's record makes of steps that memory did not suffice for.
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/allocator/arena_allocator.h"
#include "grappler_pass/graph_record.h"
#include "grappler_pass/step_errors.h"

namespace sn_tf {
namespace {

// Less memory freed than this makes no difference to a plan.
constexpr int64_t kWorthReplanningBytes = 64 * 1024;

}  // namespace

absl::Status GraphRecord::RefusedMemory(int64_t step_id,
                                        const Refusal& refused) {
  if (!sinks_.Fail(step_id)) {
    return absl::ResourceExhaustedError("The step has run out of memory.");
  }
  may_repeat_ = !writes_began_;
  PlannedStep step;
  step.tiers = options_.tiers;
  if (sampler_.has_value()) sampler_->Abandon();
  if (tracing_) {
    StepProfile profile = EndTrace();
    profile.complete = false;
    LearnFrom(std::move(profile));
    if (state_ == State::kInfeasible) {
      step.min_budget_bytes = MinBudget();
      return RanOutOfMemory(arena_, refused, std::move(step),
                            absl::StrCat(verdict_, " ", WhatBecameOfWeights()));
    }
  }
  step.min_budget_bytes = MinBudget();
  step.measured = knowledge_.measured();
  step.outcome = WhatBecameOf(refused);
  if (refused.in_pieces) {
    knowledge_.scattered_bytes += refused.bytes;
    const std::shared_ptr<Session> session = session_.lock();
    if (session != nullptr) session->WantNewGeneration();
  } else if (state_ == State::kSettled) {
    state_ = State::kProvisional;  // Not traced: the next one is.
  }
  return RanOutOfMemory(arena_, refused, std::move(step));
}

std::string GraphRecord::WhatBecameOfWeights() const {
  if (delays_writes_ && !writes_began_) return "No weight was changed.";
  return "Nothing computed from there on was written to a weight, but weights "
         "whose gradients were complete before may have been updated.";
}

std::string GraphRecord::WhatBecameOf(const Refusal& refused) const {
  const std::string weights = WhatBecameOfWeights();
  if (refused.in_pieces) {
    return absl::StrCat("As much is free, but in smaller pieces. ", weights,
                        " The next step is planned to leave more room.");
  }
  if (delays_writes_ && !writes_began_) {
    return absl::StrCat("This step was to tell what its ops need. ", weights,
                        " The next step is planned with what this one has "
                        "told.");
  }
  return absl::StrCat("The plan did not foresee it. ", weights,
                      " The next step is measured to make a better plan.");
}

int64_t GraphRecord::MinBudget() const {
  const int64_t grown =
      arena_->stats().resident_bytes - min_budget_resident_bytes_;
  return min_budget_bytes_ + std::max<int64_t>(0, grown);
}

void GraphRecord::OnStepFailed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (sampler_.has_value()) sampler_->Abandon();
  if (tracing_) {
    StepProfile profile = EndTrace();
    may_repeat_ = !profile.complete && !writes_began_;
    LearnFrom(std::move(profile));
  }
  sinks_.CloseFailed();
}

bool GraphRecord::RepeatStep() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(may_repeat_, false) && state_ != State::kInfeasible) {
    return batches_.Repeat();
  }
  batches_.Drop();
  return false;
}

void GraphRecord::LearnFrom(StepProfile profile) {
  const std::shared_ptr<Session> session = session_.lock();
  // A step may fail for other reasons, or end unseen beside another.
  if (profile.complete || item_ == nullptr || session == nullptr) return;
  knowledge_.profile = std::move(profile);
  knowledge_.profiled_schedule = schedule_;
  knowledge_.profiled_moves = moves_;
  const auto planned = PlanGraph(*item_, options_, knowledge_);
  if (!planned.ok()) return;
  const bool feasible = planned->plan.feasible;
  // What loops hold may be less when they are left as they are, which the next
  // instance is.
  const bool may_fit = !feasible && planned->imported.MayNeedLess();
  if (!feasible) may_repeat_ = false;
  if (!may_fit) NoteMinBudget(*planned);
  if (feasible || may_fit) {
    session->WantNewGeneration();
    return;
  }
  SetInfeasible(*planned);
  Publish(*planned, 0);
}

void GraphRecord::SetInfeasible(const PlannedGraph& planned) {
  state_ = State::kInfeasible;
  verdict_ = InfeasibleMessage(planned);
  refused_in_use_bytes_ = WithStateOutside();
}

void GraphRecord::ReconsiderInfeasible() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_ != State::kInfeasible) return;
  const int64_t freed = refused_in_use_bytes_ - WithStateOutside();
  const std::shared_ptr<Session> session = session_.lock();
  if (freed < kWorthReplanningBytes || session == nullptr) return;
  if (knowledge_.profile.has_value()) {
    knowledge_.profile->begin_bytes -= freed;
    knowledge_.profile->peak_bytes -= freed;
  }
  most_in_use_bytes_ = 0;
  state_ = State::kProvisional;
  session->ForgetReport(function_);
  session->WantNewGeneration();
}

}  // namespace sn_tf
