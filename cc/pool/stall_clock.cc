// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/stall_clock.h"

namespace sn_tf {
namespace {

// For which accelerator this thread computes now.
thread_local StallClock* computing_for = nullptr;

}  // namespace

StallClock::Computing::Computing(StallClock* clock)
    : clock_(clock), outer_(computing_for) {
  if (clock_ == outer_) return;
  computing_for = clock_;
  clock_->Add(&clock_->computing_, 1);
}

StallClock::Computing::~Computing() {
  if (clock_ == outer_) return;
  clock_->Add(&clock_->computing_, -1);
  computing_for = outer_;
}

StallClock::Waiting::Waiting(StallClock* clock)
    : clock_(clock == computing_for ? clock : nullptr) {
  if (clock_ != nullptr) clock_->Add(&clock_->computing_, -1);
}

StallClock::Waiting::~Waiting() {
  if (clock_ != nullptr) clock_->Add(&clock_->computing_, 1);
}

double StallClock::seconds() const {
  std::lock_guard<std::mutex> lock(mutex_);
  Clock::duration total = total_;
  if (stalled()) total += Clock::now() - since_;
  return std::chrono::duration<double>(total).count();
}

void StallClock::Add(int* count, int change) {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool was_stalled = stalled();
  *count += change;
  if (stalled() == was_stalled) return;
  const Clock::time_point now = Clock::now();
  if (was_stalled) {
    total_ += now - since_;
  } else {
    since_ = now;
  }
}

}  // namespace sn_tf
