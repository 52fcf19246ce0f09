// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/plan.h"

namespace sn_tf {

const char* KindName(ItemKind kind) {
  switch (kind) {
    case ItemKind::kRun:
      return "run";
    case ItemKind::kRecompute:
      return "recompute";
    case ItemKind::kSwapOut:
      return "swap_out";
    case ItemKind::kSwapWait:
      return "swap_wait";
    case ItemKind::kSwapIn:
      return "swap_in";
  }
  return "unknown";
}

std::string ScheduleToText(const MemoryGraph& graph, const Schedule& schedule) {
  std::string text;
  for (const PlanItem& item : schedule) {
    text += KindName(item.kind);
    text += ' ';
    text +=
        IsOp(item.kind) ? graph.ops[item.id].name : graph.buffers[item.id].name;
    text += '\n';
  }
  return text;
}

Schedule ScheduleOfRoute(const Route& route) {
  Schedule schedule;
  schedule.reserve(route.size());
  for (const OpId op : route) schedule.push_back({ItemKind::kRun, op});
  return schedule;
}

}  // namespace sn_tf
