// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/schedule_edit.h"

#include <algorithm>

namespace sn_tf {
namespace {

void AppendNew(const PlanItem& item, std::vector<PlanItem>* items) {
  if (std::find(items->begin(), items->end(), item) == items->end()) {
    items->push_back(item);
  }
}

void Append(const std::vector<PlanItem>& items, Schedule* schedule) {
  schedule->insert(schedule->end(), items.begin(), items.end());
}

// Marks the items that nothing needs; false where there are none.
bool MarkUnused(const MemoryGraph& graph, const Schedule& schedule,
                std::vector<bool>* unused) {
  const Liveness liveness = AnalyzeLiveness(graph, schedule);
  std::vector<bool> swapped_in(graph.buffers.size(), false);
  std::vector<bool> read(schedule.size(), false);
  for (const Version& version : liveness.versions) {
    if (!version.reads.empty()) read[version.begin] = true;
  }
  for (const PlanItem& item : schedule) {
    if (item.kind == ItemKind::kSwapIn) swapped_in[item.id] = true;
  }
  unused->assign(schedule.size(), false);
  bool any = false;
  for (size_t p = 0; p < schedule.size(); ++p) {
    const PlanItem& item = schedule[p];
    const bool is_restore =
        item.kind == ItemKind::kSwapIn || item.kind == ItemKind::kRecompute;
    if ((is_restore && !read[p]) ||
        (item.kind == ItemKind::kSwapOut && !swapped_in[item.id])) {
      (*unused)[p] = true;
      any = true;
    }
  }
  return any;
}

}  // namespace

void ScheduleInserter::SwapOutAfter(Position producer, BufferId buffer) {
  AppendNew({ItemKind::kSwapOut, buffer}, &before_[producer + 1].swap_outs);
}

void ScheduleInserter::ChainBefore(Position at,
                                   const std::vector<PlanItem>& items) {
  for (const PlanItem& item : items) AppendNew(item, &before_[at].chain);
}

void ScheduleInserter::SwapInBefore(Position at, BufferId buffer) {
  AppendNew({ItemKind::kSwapIn, buffer}, &before_[at].swap_ins);
}

Schedule ScheduleInserter::Apply(const Schedule& schedule) const {
  Schedule result;
  auto next = before_.begin();
  for (size_t p = 0; p <= schedule.size(); ++p) {
    if (next != before_.end() && next->first == static_cast<Position>(p)) {
      Append(next->second.swap_outs, &result);
      Append(next->second.chain, &result);
      Append(next->second.swap_ins, &result);
      ++next;
    }
    if (p < schedule.size()) result.push_back(schedule[p]);
  }
  return result;
}

std::vector<bool> StoredBuffers(const MemoryGraph& graph,
                                const Schedule& schedule) {
  std::vector<bool> stored(graph.buffers.size(), false);
  for (const PlanItem& item : schedule) {
    if (item.kind == ItemKind::kSwapOut) stored[item.id] = true;
  }
  return stored;
}

Schedule PlaceWaits(const MemoryGraph& graph, const Schedule& schedule) {
  Schedule bare;
  for (const PlanItem& item : schedule) {
    if (item.kind != ItemKind::kSwapWait) bare.push_back(item);
  }
  const Liveness liveness = AnalyzeLiveness(graph, bare);
  const std::vector<bool> stored = StoredBuffers(graph, bare);
  // The swapped version is the first: swap_outs stand beside the producer.
  std::map<Position, std::vector<BufferId>> waits;
  for (size_t b = 0; b < stored.size(); ++b) {
    if (!stored[b]) continue;
    const Version& first = liveness.versions[liveness.of_buffer[b].front()];
    waits[first.end + 1].push_back(static_cast<BufferId>(b));
  }
  Schedule result;
  auto next = waits.begin();
  for (size_t p = 0; p <= bare.size(); ++p) {
    if (next != waits.end() && next->first == static_cast<Position>(p)) {
      for (const BufferId b : next->second) {
        result.push_back({ItemKind::kSwapWait, b});
      }
      ++next;
    }
    if (p < bare.size()) result.push_back(bare[p]);
  }
  return result;
}

Schedule KeepPartnersTogether(const MemoryGraph& graph,
                              const Schedule& schedule) {
  Schedule result;
  for (size_t p = 0; p < schedule.size(); ++p) {
    const PlanItem& item = schedule[p];
    const OpId partner =
        item.kind == ItemKind::kRun ? graph.ops[item.id].partner : kNone;
    size_t q = p + 1;
    while (q < schedule.size() && schedule[q].kind != ItemKind::kRun) ++q;
    if (partner == kNone || q == schedule.size() || schedule[q].id != partner) {
      result.push_back(item);
      continue;
    }
    std::vector<PlanItem> behind;
    for (size_t between = p + 1; between < q; ++between) {
      const PlanItem& moved = schedule[between];
      // What has not left by then comes back behind both too: what is waited
      // for in between, and what the first one reads.
      const PlanItem its_wait{ItemKind::kSwapWait, moved.id};
      const std::vector<BufferId>& read = graph.ops[item.id].reads;
      const bool restores =
          moved.kind == ItemKind::kRecompute ||
          (moved.kind == ItemKind::kSwapIn &&
           std::find(behind.begin(), behind.end(), its_wait) == behind.end() &&
           !std::binary_search(read.begin(), read.end(), moved.id));
      (restores ? result : behind).push_back(moved);
    }
    result.push_back(item);
    result.push_back(schedule[q]);
    Append(behind, &result);
    p = q;
  }
  return result;
}

Schedule DropUnused(const MemoryGraph& graph, Schedule schedule) {
  std::vector<bool> unused;
  while (MarkUnused(graph, schedule, &unused)) {
    Schedule kept;
    for (size_t p = 0; p < schedule.size(); ++p) {
      if (!unused[p]) kept.push_back(schedule[p]);
    }
    schedule = std::move(kept);
  }
  return KeepPartnersTogether(graph, PlaceWaits(graph, schedule));
}

}  // namespace sn_tf
