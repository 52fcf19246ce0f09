// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/report.h"

#include "grappler_pass/planner/liveness.h"

namespace sn_tf {
namespace {

// The nearest op at or before `p` (step -1) or at or after it (step 1).
std::string OpAt(const MemoryGraph& graph, const Schedule& schedule, Position p,
                 int step) {
  for (; p >= 0 && p < static_cast<Position>(schedule.size()); p += step) {
    if (schedule[p].kind == ItemKind::kRun) {
      return graph.ops[schedule[p].id].name;
    }
  }
  return "";
}

void AddAction(const MemoryGraph& graph, const Schedule& schedule,
               const Liveness& liveness, int32_t v, PlanReport* report) {
  const Version& version = liveness.versions[v];
  const std::vector<int32_t>& all = liveness.of_buffer[version.buffer];
  if (all.front() == v || version.reads.empty()) return;
  const Version* previous = nullptr;
  for (const int32_t other : all) {
    if (other == v) break;
    previous = &liveness.versions[other];
  }
  ReportAction action;
  action.action =
      schedule[version.begin].kind == ItemKind::kSwapIn ? "swap" : "recompute";
  action.buffer = graph.buffers[version.buffer].name;
  action.bytes = graph.buffers[version.buffer].bytes;
  action.from_op = OpAt(graph, schedule, previous->end, -1);
  action.to_op = OpAt(graph, schedule, version.reads.front(), 1);
  report->actions.push_back(std::move(action));
}

}  // namespace

PlanReport ReportOf(const MemoryGraph& graph, const MemoryPlan& plan) {
  PlanReport report;
  report.feasible = plan.feasible;
  report.budget_bytes = plan.budget_bytes;
  report.stock_peak_bytes = plan.route_peak_bytes;
  report.planned_peak_bytes = plan.peak_bytes;
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
  const Liveness liveness = AnalyzeLiveness(graph, plan.schedule);
  for (size_t v = 0; v < liveness.versions.size(); ++v) {
    AddAction(graph, plan.schedule, liveness, static_cast<int32_t>(v), &report);
  }
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
