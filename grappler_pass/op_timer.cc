// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/op_timer.h"

#include <utility>

#include "xla/tsl/profiler/backends/cpu/traceme_recorder.h"

namespace sn_tf {
namespace {

using tsl::profiler::TraceMeRecorder;

// The level at which executors trace cheap ops too.
constexpr int kTraceLevel = 2;

constexpr double kSecondsPerNanosecond = 1e-9;

}  // namespace

OpTimer::OpTimer() : started_(TraceMeRecorder::Start(kTraceLevel)) {}

OpTimer::~OpTimer() {
  if (started_) TraceMeRecorder::Stop();
}

OpSeconds OpTimer::Stop() {
  OpSeconds seconds;
  if (!std::exchange(started_, false)) return seconds;
  for (const auto& [thread, events] : TraceMeRecorder::Stop()) {
    for (const TraceMeRecorder::Event& event : events) {
      // An executor calls what it runs "name:type"; nothing else has both.
      const size_t colon = event.name.find(':');
      if (colon == std::string::npos || !event.IsComplete()) continue;
      seconds[event.name.substr(0, colon)] +=
          static_cast<double>(event.end_time - event.start_time) *
          kSecondsPerNanosecond;
    }
  }
  return seconds;
}

}  // namespace sn_tf
