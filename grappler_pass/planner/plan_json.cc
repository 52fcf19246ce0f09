// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/plan_json.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "cc/core/json.h"
#include "cc/core/json_value.h"
#include "grappler_pass/planner/graph_json.h"
#include "grappler_pass/planner/plan.h"
#include "grappler_pass/planner/planner.h"
#include "grappler_pass/planner/verify.h"

namespace sn_tf {
namespace {

constexpr ItemKind kKinds[] = {ItemKind::kRun, ItemKind::kRecompute,
                               ItemKind::kSwapOut, ItemKind::kSwapWait,
                               ItemKind::kSwapIn};

std::string ReadGraphText(std::string_view text, MemoryGraph* graph) {
  JsonValue json;
  const std::string error = ParseJson(text, &json);
  return error.empty() ? ReadGraph(json, graph) : error;
}

// False where `json` is no item of a schedule of the graph.
bool ReadItem(const JsonValue& json, const MemoryGraph& graph, PlanItem* item) {
  if (json.items().size() != 2) return false;
  const std::string* const kind = json.items()[0].AsString();
  const int64_t id = json.items()[1].AsInt().value_or(kNone);
  if (kind == nullptr) return false;
  for (const ItemKind known : kKinds) {
    if (*kind != KindName(known)) continue;
    const size_t count = IsOp(known) ? graph.ops.size() : graph.buffers.size();
    if (id < 0 || id >= static_cast<int64_t>(count)) return false;
    *item = {known, static_cast<int32_t>(id)};
    return true;
  }
  return false;
}

std::string ReadScheduleText(std::string_view text, const MemoryGraph& graph,
                             Schedule* schedule) {
  JsonValue json;
  const std::string error = ParseJson(text, &json);
  if (!error.empty()) return error;
  if (!json.is_array()) return "Not a schedule: expected an array.";
  std::set<int32_t> seen;
  for (const JsonValue& value : json.items()) {
    PlanItem item;
    if (!ReadItem(value, graph, &item)) {
      return "Not a schedule: item " + std::to_string(schedule->size()) +
             " is wrong. Expected [kind, id], with one of the kinds run, "
             "recompute, swap_out, swap_wait and swap_in, and the id of an op "
             "or buffer of the graph.";
    }
    if (item.kind == ItemKind::kRun && !seen.insert(item.id).second) {
      return "Not a schedule: op " + std::to_string(item.id) +
             " runs twice. Use recompute for the second time.";
    }
    schedule->push_back(item);
  }
  return "";
}

void WriteSeconds(const MemoryPlan& plan, JsonWriter* json) {
  json->Key("step_seconds").Double(plan.step_seconds);
  json->Key("recompute_seconds").Double(plan.added.recompute);
  json->Key("stall_seconds").Double(plan.added.stalls);
  json->Key("interference_seconds").Double(plan.added.interference);
  json->Key("apart_seconds").Double(plan.added.apart);
  json->Key("added_seconds").Double(plan.added.total());
}

std::string PlanText(const MemoryGraph& graph, const PlannerOptions& options,
                     const MemoryPlan& plan) {
  JsonWriter json;
  json.BeginObject();
  json.Key("error").String("");
  json.Key("rejected").String(VerifyPlan(graph, plan));
  json.Key("feasible").Bool(plan.feasible);
  json.Key("budget_bytes").Int(plan.budget_bytes);
  json.Key("peak_bytes").Int(plan.peak_bytes);
  json.Key("expected_peak_bytes").Int(plan.expected_peak_bytes);
  json.Key("route_peak_bytes").Int(plan.route_peak_bytes);
  json.Key("floor_bytes").Int(plan.floor_bytes);
  json.Key("min_budget_bytes").Int(plan.min_budget_bytes);
  json.Key("limiting_op").Int(plan.limiting_op);
  WriteSeconds(plan, &json);
  const CostModel costs = CostsOf(options);
  json.Key("costs").BeginObject();
  json.Key("link_bytes_per_s").Double(costs.link_bytes_per_s);
  json.Key("interference").Double(costs.interference);
  json.Key("copying_bytes_per_s").Double(costs.copying_bytes_per_s);
  json.EndObject();
  json.Key("schedule").BeginArray();
  for (const PlanItem& item : plan.schedule) {
    json.BeginArray().String(KindName(item.kind)).Int(item.id).EndArray();
  }
  json.EndArray().EndObject();
  return json.text();
}

}  // namespace

std::string PlanGraphText(std::string_view graph,
                          const PlannerOptions& options) {
  MemoryGraph memory;
  const std::string error = ReadGraphText(graph, &memory);
  if (!error.empty()) return PlanErrorText(error);
  return PlanText(memory, options, MakePlan(memory, options));
}

std::string PlanOfScheduleText(std::string_view graph,
                               const PlannerOptions& options,
                               std::string_view schedule) {
  MemoryGraph memory;
  std::string error = ReadGraphText(graph, &memory);
  Schedule items;
  if (error.empty()) error = ReadScheduleText(schedule, memory, &items);
  if (!error.empty()) return PlanErrorText(error);
  return PlanText(memory, options,
                  PlanOfSchedule(memory, options, std::move(items)));
}

std::string PlanErrorText(const std::string& error) {
  JsonWriter json;
  json.BeginObject().Key("error").String(error).EndObject();
  return json.text();
}

}  // namespace sn_tf
