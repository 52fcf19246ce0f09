// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/report.h"

#include <utility>

#include "grappler_pass/planner/liveness.h"

namespace sn_tf {
namespace {

// Per position, the nearest position at or before it (step -1) or at or after
// it (step 1) at which an op runs; kNone where none does.
std::vector<Position> NearestRuns(const Schedule& schedule, int step) {
  std::vector<Position> nearest(schedule.size(), kNone);
  const auto size = static_cast<Position>(schedule.size());
  Position run = kNone;
  for (Position p = step < 0 ? 0 : size - 1; 0 <= p && p < size; p -= step) {
    if (schedule[p].kind == ItemKind::kRun) run = p;
    nearest[p] = run;
  }
  return nearest;
}

// Tells of each version but the first of its buffer.
class Actions {
 public:
  Actions(const MemoryGraph& graph, const Schedule& schedule)
      : graph_(graph),
        schedule_(schedule),
        liveness_(AnalyzeLiveness(graph, schedule)),
        before_(NearestRuns(schedule, -1)),
        behind_(NearestRuns(schedule, 1)) {}

  std::vector<ReportAction> Run() const {
    std::vector<ReportAction> actions;
    for (const Version& version : liveness_.versions) {
      const int32_t previous =
          liveness_.LastBefore(version.buffer, version.begin);
      if (previous == kNone || version.reads.empty()) continue;
      ReportAction action;
      action.action = schedule_[version.begin].kind == ItemKind::kSwapIn
                          ? "swap"
                          : "recompute";
      action.buffer = graph_.buffers[version.buffer].name;
      action.bytes = graph_.buffers[version.buffer].bytes;
      action.from_op = OpAt(before_[liveness_.versions[previous].end]);
      action.to_op = OpAt(behind_[version.reads.front()]);
      actions.push_back(std::move(action));
    }
    return actions;
  }

 private:
  std::string OpAt(Position p) const {
    return p == kNone ? "" : graph_.ops[schedule_[p].id].name;
  }

  const MemoryGraph& graph_;
  const Schedule& schedule_;
  const Liveness liveness_;
  const std::vector<Position> before_;
  const std::vector<Position> behind_;
};

}  // namespace

PlanReport ReportOf(const MemoryGraph& graph, const MemoryPlan& plan) {
  PlanReport report;
  report.feasible = plan.feasible;
  report.budget_bytes = plan.budget_bytes;
  report.stock_peak_bytes = plan.route_peak_bytes;
  report.planned_peak_bytes = plan.peak_bytes;
  report.expected_peak_bytes = plan.expected_peak_bytes;
  report.floor_bytes = plan.floor_bytes;
  report.resident_bytes = graph.resident_bytes;
  report.min_budget_bytes = plan.min_budget_bytes;
  if (plan.limiting_op != kNone) {
    const Op& op = graph.ops[plan.limiting_op];
    report.limiting_op = op.name + " (" + op.type + ")";
  }
  report.added = plan.added;
  report.step_seconds = plan.step_seconds;
  for (const PlanItem& item : plan.schedule) {
    if (item.kind == ItemKind::kSwapOut) {
      ++report.swapped_buffers;
      report.swapped_bytes += graph.buffers[item.id].bytes;
    } else if (item.kind == ItemKind::kRecompute) {
      ++report.recomputed_ops;
    }
  }
  report.actions = Actions(graph, plan.schedule).Run();
  return report;
}

void WriteJson(const PlanReport& report, JsonWriter* json) {
  json->BeginObject();
  json->Key("function").String(report.function);
  json->Key("device").String(report.device);
  json->Key("feasible").Bool(report.feasible);
  json->Key("policy").String(report.policy);
  json->Key("budget_bytes").Int(report.budget_bytes);
  json->Key("stock_peak_bytes").Int(report.stock_peak_bytes);
  json->Key("planned_peak_bytes").Int(report.planned_peak_bytes);
  json->Key("expected_peak_bytes").Int(report.expected_peak_bytes);
  json->Key("floor_bytes").Int(report.floor_bytes);
  json->Key("resident_bytes").Int(report.resident_bytes);
  json->Key("min_budget_bytes").Int(report.min_budget_bytes);
  json->Key("limiting_op").String(report.limiting_op);
  json->Key("added_seconds").Double(report.added.total());
  json->Key("recompute_seconds").Double(report.added.recompute);
  json->Key("stall_seconds").Double(report.added.stalls);
  json->Key("step_seconds").Double(report.step_seconds);
  json->Key("costs").String(report.measured ? "measured" : "estimated");
  json->Key("times").String(report.timed ? "measured" : "estimated");
  json->Key("generation").Int(report.generation);
  json->Key("swapped_bytes").Int(report.swapped_bytes);
  json->Key("swapped_buffers").Int(report.swapped_buffers);
  json->Key("recomputed_ops").Int(report.recomputed_ops);
  json->Key("state_bytes").Int(report.state_bytes);
  json->Key("state_buffers").Int(report.state_buffers);
  json->Key("ops").Int(report.ops);
  json->Key("plan_seconds").Double(report.plan_seconds);
  json->Key("reason").String(report.reason);
  json->Key("actions").BeginArray();
  for (const ReportAction& action : report.actions) {
    json->BeginObject();
    json->Key("action").String(action.action);
    json->Key("buffer").String(action.buffer);
    json->Key("bytes").Int(action.bytes);
    json->Key("from_op").String(action.from_op);
    json->Key("to_op").String(action.to_op);
    json->EndObject();
  }
  json->EndArray().EndObject();
}

}  // namespace sn_tf
