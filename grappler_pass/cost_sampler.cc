// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/cost_sampler.h"

#include <algorithm>

namespace sn_tf {
namespace {

constexpr int kWarmUpSteps = 1;
constexpr int kSamples = 2;

}  // namespace

void CostSampler::BeginStep(int64_t step_id) {
  timer_.reset();  // The step before did not end.
  if (begun_++ < kWarmUpSteps) return;
  timer_ = std::make_unique<OpTimer>();
  timed_step_ = step_id;
}

std::optional<OpSeconds> CostSampler::EndStep(int64_t step_id) {
  if (timer_ == nullptr || step_id != timed_step_) return std::nullopt;
  const OpSeconds sample = timer_->Stop();
  timer_.reset();
  if (sample.empty()) return std::nullopt;
  for (const auto& [op, seconds] : sample) {
    const auto [least, fresh] = least_.emplace(op, seconds);
    if (!fresh) least->second = std::min(least->second, seconds);
  }
  if (++samples_ < kSamples) return std::nullopt;
  return std::move(least_);
}

}  // namespace sn_tf
