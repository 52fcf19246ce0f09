// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_GRAPPLER_PASS_TIMED_CHOICE_H_
#define SN_TF_GRAPPLER_PASS_TIMED_CHOICE_H_

#include "absl/status/statusor.h"
#include "grappler_pass/plan_graph.h"

namespace sn_tf {

// Whether ops of the planned graph can be timed, and whether their times may
// make a better plan of it.
bool TimesWouldHelp(const PlannedGraph& planned, const std::string& device);

struct TimedChoice {
  // The present plan, with what the times say of it.
  PlannedGraph present;
  // Whether a plan made from them is worth a new instance.
  bool replace = false;
};

// Compares `present`, which was planned from estimates, with a plan made from
// `knowledge`, in which op times are measured. An instance of the graph costs
// `instance_seconds`.
absl::StatusOr<TimedChoice> ChooseByTimes(
    const tensorflow::grappler::GrapplerItem& item,
    const PlannerOptions& options, const GraphKnowledge& knowledge,
    const NamedSchedule& present, double instance_seconds);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_TIMED_CHOICE_H_
