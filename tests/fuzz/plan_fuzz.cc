// SPDX-License-Identifier: Apache-2.0
//
// Plans for any graph and options, held against what planner.h, plan.h and
// verify.h promise.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/arena.h"
#include "cc/core/json.h"
#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/placement_check.h"
#include "grappler_pass/planner/planner.h"
#include "grappler_pass/planner/report.h"
#include "grappler_pass/planner/route.h"
#include "grappler_pass/planner/verify.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/graph_decoder.h"

namespace sn_tf {
namespace {

// A budget of `choice`: none, any, or one between floor and route peak and a
// little beyond.
int64_t DecodeBudget(size_t choice, uint64_t number, const MemoryGraph& graph,
                     int64_t route_peak) {
  if (choice == 0) return 0;
  if (choice == 1) return static_cast<int64_t>(number >> 1);
  const int64_t floor = graph.FloorBytes();
  const auto part = static_cast<int64_t>(number % 70);
  return std::max<int64_t>(0, floor + (route_peak - floor) / 64 * (part - 3));
}

PlannerOptions DecodeOptions(ByteReader* bytes) {
  static constexpr const char* kTiers[] = {"auto", "host", "none"};
  static constexpr const char* kPolicies[] = {"liveness",  "auto",    "auto",
                                              "auto",      "auto",    "swap",
                                              "vdnn_conv", "vdnn_dyn"};
  PlannerOptions options;
  const uint8_t choices = bytes->Byte();
  static constexpr const char* kSegmentPolicies[] = {
      "speed_centric", "memory_centric", "cost_aware", "superneurons"};
  // What inputs kept in the corpus have chosen stays what it was.
  options.policy =
      choices < 224 ? kPolicies[choices % 8] : kSegmentPolicies[choices % 4];
  options.tiers = kTiers[choices / 8 % 3];
  options.min_buffer_bytes = int64_t{1} << bytes->Below(63);
  options.link_bandwidth_bytes_per_s = int64_t{1} << bytes->Below(63);
  return options;
}

// Adjacent partners, to be fused, in the order of the schedule.
std::vector<OpId> AdjacentPartners(const MemoryGraph& graph,
                                   const Schedule& schedule) {
  std::vector<OpId> adjacent;
  for (size_t p = 1; p < schedule.size(); ++p) {
    const PlanItem& item = schedule[p];
    if (item.kind == ItemKind::kRun && graph.ops[item.id].partner != kNone &&
        schedule[p - 1] ==
            PlanItem{ItemKind::kRun, graph.ops[item.id].partner}) {
      adjacent.push_back(item.id);
    }
  }
  return adjacent;
}

// What holds for every plan, whoever asked for it.
void CheckPlan(const MemoryGraph& graph, const MemoryPlan& plan) {
  CheckEqual(VerifyPlan(graph, plan), "", "VerifyPlan");
  const Schedule route = ScheduleOfRoute(BuildRoute(graph));
  CheckEqual(plan.route_peak_bytes, AnalyzeLiveness(graph, route).peak_bytes(),
             "route_peak_bytes");
  CheckEqual(plan.floor_bytes, graph.FloorBytes(), "floor_bytes");
  Check(plan.peak_bytes >= plan.floor_bytes, "a peak not below the floor");
  Check(plan.added.total() >= 0, "added time that is none less");
  CheckEqual(plan.feasible,
             plan.budget_bytes == 0 || plan.peak_bytes <= plan.budget_bytes,
             "feasible");
  Check(
      AdjacentPartners(graph, plan.schedule) == AdjacentPartners(graph, route),
      "partners that stay together");
  Check(graph.ops.empty() || plan.limiting_op != kNone, "an op at the peak");
  constexpr int64_t kEnough = int64_t{1} << 50;
  Check(FindsPlaces(graph, plan.schedule, Arena(kEnough)),
        "places for all in a large arena");
  JsonWriter json;
  WriteJson(ReportOf(graph, plan), &json);
}

void CheckSame(const MemoryGraph& graph, const MemoryPlan& a,
               const MemoryPlan& b) {
  CheckEqual(ScheduleToText(graph, a.schedule),
             ScheduleToText(graph, b.schedule), "the schedule again");
  CheckEqual(a.feasible, b.feasible, "feasible again");
  CheckEqual(a.peak_bytes, b.peak_bytes, "the peak again");
  CheckEqual(a.min_budget_bytes, b.min_budget_bytes, "min_budget_bytes again");
  CheckEqual(a.limiting_op, b.limiting_op, "limiting_op again");
  CheckEqual(a.added.total(), b.added.total(), "added time again");
}

// The smallest budget, where a plan names one, is met by a plan.
void CheckSmallestBudget(const MemoryGraph& graph, PlannerOptions options,
                         const MemoryPlan& plan) {
  if (plan.feasible) {
    Check(plan.min_budget_bytes <= plan.budget_bytes,
          "a smallest budget within one that is met");
  } else {
    Check(plan.unmet_bytes() > 0, "unmet bytes");
    Check(plan.min_budget_bytes > plan.budget_bytes,
          "a smallest budget beyond one that is not met");
  }
  if (plan.min_budget_bytes == 0) return;
  options.budget_bytes = plan.min_budget_bytes;
  const MemoryPlan smallest = MakePlan(graph, options);
  CheckPlan(graph, smallest);
  Check(smallest.feasible, "a plan within the smallest budget");
}

void CheckMakePlan(const MemoryGraph& graph, const PlannerOptions& options) {
  const MemoryPlan plan = MakePlan(graph, options);
  CheckEqual(plan.budget_bytes, options.budget_bytes, "budget_bytes");
  CheckPlan(graph, plan);
  CheckSame(graph, MakePlan(graph, options), plan);
  CheckSmallestBudget(graph, options, plan);
  if (!IgnoresBudget(options) && plan.feasible &&
      plan.route_peak_bytes <= plan.budget_bytes) {
    Check(plan.schedule == ScheduleOfRoute(BuildRoute(graph)),
          "that enough budget moves nothing");
  }
}

void CheckOtherPlans(const MemoryGraph& graph, const PlannerOptions& options,
                     size_t choice) {
  CheckPlan(graph, MakeSmallestPlan(graph, options));
  CheckPlan(graph, MakeAssumedPlan(graph, options, kNone));
  if (graph.ops.empty()) return;
  const auto op = static_cast<OpId>(choice % graph.ops.size());
  CheckPlan(graph, MakeAssumedPlan(graph, options, op));
}

void Run(ByteReader* bytes) {
  PlannerOptions options = DecodeOptions(bytes);
  const size_t choice = bytes->Byte();
  const uint64_t number = choice % 4 == 1 ? bytes->Number(8) : bytes->Byte();
  const MemoryGraph graph = DecodeGraph(bytes);
  CheckEqual(graph.Validate(), "", "Validate");
  const Schedule route = ScheduleOfRoute(BuildRoute(graph));
  options.budget_bytes = DecodeBudget(
      choice % 4, number, graph, AnalyzeLiveness(graph, route).peak_bytes());
  if (route.empty() && !graph.ops.empty()) {  // A cycle.
    Check(MakePlan(graph, options).schedule.empty(), "no plan for a cycle");
    return;
  }
  CheckMakePlan(graph, options);
  CheckOtherPlans(graph, options, choice / 4);
}

}  // namespace
}  // namespace sn_tf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sn_tf::ByteReader bytes(data, size);
  sn_tf::Run(&bytes);
  return 0;
}
