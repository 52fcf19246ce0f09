// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/schedule_edit.h"

#include <algorithm>
#include <set>

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

// Per position, the versions that the item there reads.
std::vector<std::vector<int32_t>> VersionsRead(const Schedule& schedule,
                                               const Liveness& liveness) {
  std::vector<std::vector<int32_t>> read(schedule.size());
  for (size_t v = 0; v < liveness.versions.size(); ++v) {
    for (const Position p : liveness.versions[v].reads) {
      read[p].push_back(static_cast<int32_t>(v));
    }
  }
  return read;
}

// Which items something needs. From the last one on, so that what only serves
// what nothing needs is seen to be of no use.
std::vector<bool> Needed(const MemoryGraph& graph, const Schedule& schedule) {
  const Liveness liveness = AnalyzeLiveness(graph, schedule);
  const auto reads = VersionsRead(schedule, liveness);
  std::vector<bool> needed(schedule.size());
  std::vector<bool> restored(schedule.size(), false);  // And read from there.
  std::vector<bool> swapped_in(graph.buffers.size(), false);
  for (size_t p = schedule.size(); p-- > 0;) {
    const PlanItem& item = schedule[p];
    switch (item.kind) {
      case ItemKind::kRun:
      case ItemKind::kSwapWait:
        needed[p] = true;
        break;
      case ItemKind::kSwapOut:
        needed[p] = swapped_in[item.id];
        break;
      case ItemKind::kSwapIn:
      case ItemKind::kRecompute:
        needed[p] = restored[p];
        break;
    }
    if (!needed[p]) continue;
    if (item.kind == ItemKind::kSwapIn) swapped_in[item.id] = true;
    for (const int32_t v : reads[p]) {
      restored[liveness.versions[v].begin] = true;
    }
  }
  return needed;
}

// Whether `moved`, which stands behind `op`, may stand before it as well, and
// everybody reads what he has read. `behind` stays behind, and `late` is
// written there, or by `op`.
bool MayComeBefore(const MemoryGraph& graph, OpId op, const PlanItem& moved,
                   const std::vector<PlanItem>& behind,
                   const std::set<BufferId>& late) {
  const std::vector<BufferId>& read = graph.ops[op].reads;
  if (moved.kind == ItemKind::kRecompute) {
    const auto is_late = [&late](BufferId b) { return late.count(b) > 0; };
    const auto is_read = [&read](BufferId b) {
      return std::binary_search(read.begin(), read.end(), b);
    };
    const std::vector<BufferId>& reads = graph.ops[moved.id].reads;
    const std::vector<BufferId>& writes = graph.ops[moved.id].writes;
    return std::none_of(reads.begin(), reads.end(), is_late) &&
           std::none_of(writes.begin(), writes.end(), is_late) &&
           std::none_of(writes.begin(), writes.end(), is_read);
  }
  if (moved.kind != ItemKind::kSwapIn) return false;
  // What has not left by then comes back behind too: what is waited for there,
  // and what `op` reads.
  const PlanItem its_wait{ItemKind::kSwapWait, moved.id};
  return late.count(moved.id) == 0 &&
         std::find(behind.begin(), behind.end(), its_wait) == behind.end() &&
         !std::binary_search(read.begin(), read.end(), moved.id);
}

// The first position from `p` on where an op runs; the size where none does.
size_t NextRun(const Schedule& schedule, size_t p) {
  while (p < schedule.size() && schedule[p].kind != ItemKind::kRun) ++p;
  return p;
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
  const std::vector<bool> stored = StoredBuffers(graph, bare);
  if (std::find(stored.begin(), stored.end(), true) == stored.end()) {
    return bare;
  }
  const Liveness liveness = AnalyzeLiveness(graph, bare);
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
    if (partner == kNone) {  // Without a look at what may be a long chain.
      result.push_back(item);
      continue;
    }
    const size_t q = NextRun(schedule, p + 1);
    if (q == schedule.size() || schedule[q].id != partner) {
      result.push_back(item);
      continue;
    }
    std::vector<PlanItem> behind;
    std::set<BufferId> late(graph.ops[item.id].writes.begin(),
                            graph.ops[item.id].writes.end());
    for (size_t between = p + 1; between < q; ++between) {
      const PlanItem& moved = schedule[between];
      if (MayComeBefore(graph, item.id, moved, behind, late)) {
        result.push_back(moved);
        continue;
      }
      behind.push_back(moved);
      if (moved.kind == ItemKind::kRecompute) {
        const std::vector<BufferId>& written = graph.ops[moved.id].writes;
        late.insert(written.begin(), written.end());
      } else if (moved.kind == ItemKind::kSwapIn) {
        late.insert(moved.id);
      }
    }
    result.push_back(item);
    result.push_back(schedule[q]);
    Append(behind, &result);
    p = q;
  }
  return result;
}

Schedule DropUnused(const MemoryGraph& graph, const Schedule& schedule) {
  const std::vector<bool> needed = Needed(graph, schedule);
  Schedule kept;
  for (size_t p = 0; p < schedule.size(); ++p) {
    if (needed[p]) kept.push_back(schedule[p]);
  }
  return KeepPartnersTogether(graph, PlaceWaits(graph, kept));
}

}  // namespace sn_tf
