// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/phases.h"

#include <time.h>

#include <utility>

namespace sn_tf {
namespace {

thread_local PhaseTimer* current = nullptr;
thread_local PhaseSeconds spent = {};

double ThreadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

PhaseTimer::PhaseTimer(Phase phase)
    : phase_(static_cast<size_t>(phase)), outer_(current) {
  if (outer_ != nullptr) outer_->Count();
  since_ = ThreadSeconds();
  current = this;
}

PhaseTimer::~PhaseTimer() {
  Count();
  current = outer_;
  if (outer_ != nullptr) outer_->since_ = since_;
}

void PhaseTimer::Count() {
  const double now = ThreadSeconds();
  spent[phase_] += now - since_;
  since_ = now;
}

PhaseSeconds TakePhaseSeconds() { return std::exchange(spent, {}); }

}  // namespace sn_tf
