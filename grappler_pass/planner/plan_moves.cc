// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/plan_moves.h"

#include <algorithm>

namespace sn_tf {
namespace {

// Ops of a chain that one change adds.
constexpr size_t kLongestChain = 12;
// How often what a chain lacks is held until then instead.
constexpr double kHeldShare = 0.15;
// What is tried how often.
constexpr double kAdds = 0.35;
constexpr double kDrops = 0.2;
constexpr double kShifts = 0.3;
// How often more than one change is made at once.
constexpr double kMore = 0.3;
// How often something else goes where an item is dropped, and how near.
constexpr double kOthers = 0.5;
constexpr size_t kNear = 5;

int64_t At(Position p) { return p; }

}  // namespace

PlanMoves::PlanMoves(PlanSearch* search)
    : graph_(search->graph),
      costs_(search->costs),
      options_(search->options),
      random_(search->random) {}

bool PlanMoves::Change(Position over, Schedule* schedule) {
  do {
    if (!ChangeOnce(over, schedule)) return false;
    over = kNone;
  } while (random_.Chance(kMore));
  return true;
}

bool PlanMoves::ChangeOnce(Position over, Schedule* schedule) {
  const double share = random_.Share();
  if (share < kAdds) return Add(over, schedule);
  if (share < kAdds + kDrops) return Drop(schedule);
  if (share < kAdds + kDrops + kShifts) return Shift(schedule);
  return Replace(schedule);
}

bool PlanMoves::Add(Position over, Schedule* schedule) {
  if (over != kNone && over + 1 >= static_cast<Position>(schedule->size())) {
    over = kNone;
  }
  // From somewhere on, the first op that reads something.
  Position at = over == kNone ? 0 : over + 1;
  at += random_.Below(schedule->size() - static_cast<size_t>(at));
  while (at < static_cast<Position>(schedule->size()) &&
         (!IsOp((*schedule)[at].kind) ||
          graph_.ops[(*schedule)[at].id].reads.empty())) {
    ++at;
  }
  if (at == static_cast<Position>(schedule->size())) return false;
  const std::vector<BufferId>& reads = graph_.ops[(*schedule)[at].id].reads;
  const BufferId b = reads[random_.Below(reads.size())];
  if (!graph_.buffers[b].MayMove(options_.min_buffer_bytes)) return false;
  Position use = at;
  while (use > 0 && !Reads((*schedule)[use - 1], b) &&
         !Begins((*schedule)[use - 1], b)) {
    --use;
  }
  if (use == at || (over != kNone && use > over)) return false;
  const bool swaps =
      options_.allow_swap && (!options_.allow_recompute || random_.Chance(0.5));
  return swaps ? SwapBefore(b, at, schedule) : RecomputeBefore(b, at, schedule);
}

bool PlanMoves::Drop(Schedule* schedule) {
  const Position p = AnItem(*schedule, false);
  if (p == kNone) return false;
  schedule->erase(schedule->begin() + At(p));
  if (random_.Chance(kOthers)) {
    const Position over = p - 1 - random_.Below(kNear);
    Add(std::max<Position>(0, over), schedule);
  }
  return true;
}

bool PlanMoves::Shift(Schedule* schedule) {
  const Position from = AnItem(*schedule, true);
  if (from == kNone) return false;
  const PlanItem item = (*schedule)[from];
  // Near ones more often, by orders of magnitude.
  int reach = 1;
  while (reach < static_cast<int>(schedule->size()) && random_.Chance(0.6)) {
    reach *= 2;
  }
  const int by = 1 + random_.Below(static_cast<size_t>(reach));
  Position to = random_.Chance(0.5) ? from + by : from - by;
  to = std::clamp<Position>(to, 0, static_cast<Position>(schedule->size()) - 1);
  schedule->erase(schedule->begin() + At(from));
  while (to < static_cast<Position>(schedule->size()) &&
         (*schedule)[to].kind == ItemKind::kSwapOut) {
    ++to;
  }
  to = BeforePair(to, *schedule);
  schedule->insert(schedule->begin() + At(to), item);
  return true;
}

bool PlanMoves::Replace(Schedule* schedule) {
  if (!options_.allow_swap || !options_.allow_recompute) return false;
  const Position p = AnItem(*schedule, false);
  if (p == kNone) return false;
  const PlanItem item = (*schedule)[p];
  if (item.kind == ItemKind::kSwapIn) {
    schedule->erase(schedule->begin() + At(p));
    // Before what reads it first.
    Position at = p;
    while (at < static_cast<Position>(schedule->size()) &&
           !Reads((*schedule)[at], item.id)) {
      ++at;
    }
    if (at == static_cast<Position>(schedule->size())) return false;
    return RecomputeBefore(item.id, at, schedule);
  }
  schedule->erase(schedule->begin() + At(p));
  Position at = std::min(p, static_cast<Position>(schedule->size()) - 1);
  bool any = false;
  for (const BufferId b : graph_.ops[item.id].writes) {
    if (!IsAlive(b, at, *schedule)) continue;
    if (!graph_.buffers[b].MayMove(options_.min_buffer_bytes)) continue;
    // What is put in before moves what was there.
    const size_t size = schedule->size();
    any = SwapBefore(b, at, schedule) || any;
    at += static_cast<Position>(schedule->size() - size);
    at = std::min(at, static_cast<Position>(schedule->size()) - 1);
  }
  return any;
}

Position PlanMoves::AnItem(const Schedule& schedule, bool copies_too) {
  // From somewhere on, the first: few items are alike.
  const size_t start = static_cast<size_t>(random_.Below(schedule.size()));
  for (size_t i = 0; i < schedule.size(); ++i) {
    const size_t p = (start + i) % schedule.size();
    const ItemKind kind = schedule[p].kind;
    if (kind == ItemKind::kRecompute || kind == ItemKind::kSwapIn ||
        (copies_too && kind == ItemKind::kSwapWait)) {
      return static_cast<Position>(p);
    }
  }
  return kNone;
}

bool PlanMoves::RecomputeBefore(BufferId b, Position at, Schedule* schedule) {
  std::vector<PlanItem> items;
  at = BeforePair(at, *schedule);
  if (!Collect(graph_.buffers[b].producer, at, *schedule, &items)) return false;
  schedule->insert(schedule->begin() + At(at), items.begin(), items.end());
  return true;
}

bool PlanMoves::SwapBefore(BufferId b, Position at, Schedule* schedule) {
  at = InTime(b, at, *schedule);
  const auto out = std::find(schedule->begin(), schedule->end(),
                             PlanItem{ItemKind::kSwapOut, b});
  const bool is_stored = out != schedule->end();
  schedule->insert(schedule->begin() + At(at), {ItemKind::kSwapIn, b});
  if (!is_stored) {
    auto producer =
        std::find(schedule->begin(), schedule->end(),
                  PlanItem{ItemKind::kRun, graph_.buffers[b].producer});
    if (producer == schedule->end()) return false;
    const OpId partner = graph_.ops[producer->id].partner;
    ++producer;
    if (producer != schedule->end() &&
        *producer == PlanItem{ItemKind::kRun, partner}) {
      ++producer;
    }
    schedule->insert(producer, {ItemKind::kSwapOut, b});
  }
  PlaceWait(b, schedule);
  return true;
}

// Where a copy back would have to begin to end before `at`, or somewhere
// between.
Position PlanMoves::InTime(BufferId b, Position at,
                           const Schedule& schedule) const {
  double seconds = CopySeconds(b) * random_.Share() * 2;
  while (at > 1 && seconds > 0 && !Reads(schedule[at - 1], b) &&
         !Begins(schedule[at - 1], b)) {
    seconds -= Seconds(schedule[--at]);
  }
  return BeforePair(at, schedule);
}

double PlanMoves::CopySeconds(BufferId b) const {
  return costs_.CopySeconds(graph_.buffers[b].bytes);
}

double PlanMoves::Seconds(const PlanItem& item) const {
  return IsOp(item.kind) ? graph_.ops[item.id].seconds : 0;
}

void PlanMoves::PlaceWait(BufferId b, Schedule* schedule) {
  schedule->erase(std::remove(schedule->begin(), schedule->end(),
                              PlanItem{ItemKind::kSwapWait, b}),
                  schedule->end());
  size_t last = 0;
  bool begun = false;
  for (size_t p = 0; p < schedule->size(); ++p) {
    const PlanItem& item = (*schedule)[p];
    if (Begins(item, b)) {
      if (begun) break;
      begun = true;
      last = p;
    }
    if (Reads(item, b) || item == PlanItem{ItemKind::kSwapOut, b}) last = p;
  }
  const auto size = static_cast<Position>(schedule->size());
  Position at = static_cast<Position>(last + 1);
  // There, or when the copy has ended.
  double seconds = random_.Chance(0.5) ? CopySeconds(b) : 0;
  for (; at < size && seconds > 0 && !Begins((*schedule)[at], b); ++at) {
    seconds -= Seconds((*schedule)[at]);
  }
  if (at < size && BeforePair(at, *schedule) != at) ++at;
  schedule->insert(schedule->begin() + At(at), {ItemKind::kSwapWait, b});
}

bool PlanMoves::Collect(OpId op, Position at, const Schedule& schedule,
                        std::vector<PlanItem>* items) {
  const PlanItem item{ItemKind::kRecompute, op};
  if (std::find(items->begin(), items->end(), item) != items->end()) {
    return true;
  }
  if (!graph_.ops[op].pure || items->size() >= kLongestChain) return false;
  for (const BufferId b : graph_.ops[op].reads) {
    if (graph_.buffers[b].view || IsAlive(b, at, schedule)) continue;
    if (random_.Chance(kHeldShare)) continue;
    const PlanItem copy{ItemKind::kSwapIn, b};
    if (std::find(items->begin(), items->end(), copy) != items->end()) continue;
    if (IsStored(b, at, schedule)) {
      items->push_back(copy);
    } else if (!graph_.ops[graph_.buffers[b].producer].pure) {
      continue;  // Held.
    } else if (!Collect(graph_.buffers[b].producer, at, schedule, items)) {
      return false;
    }
  }
  items->push_back(item);
  return true;
}

// Whether the version before `at` is read from there on.
bool PlanMoves::IsAlive(BufferId b, Position at,
                        const Schedule& schedule) const {
  for (size_t p = static_cast<size_t>(at); p < schedule.size(); ++p) {
    if (Reads(schedule[p], b)) return true;
    if (Begins(schedule[p], b)) return false;
  }
  return false;
}

bool PlanMoves::IsStored(BufferId b, Position at,
                         const Schedule& schedule) const {
  const auto end = schedule.begin() + At(at);
  return std::find(schedule.begin(), end, PlanItem{ItemKind::kSwapWait, b}) !=
         end;
}

Position PlanMoves::BeforePair(Position at, const Schedule& schedule) const {
  if (at == 0 || at >= static_cast<Position>(schedule.size())) return at;
  const PlanItem& before = schedule[at - 1];
  const PlanItem& item = schedule[at];
  const bool paired = before.kind == ItemKind::kRun &&
                      item.kind == ItemKind::kRun &&
                      graph_.ops[before.id].partner == item.id;
  return paired ? at - 1 : at;
}

bool PlanMoves::Reads(const PlanItem& item, BufferId b) const {
  if (!IsOp(item.kind)) return false;
  const std::vector<BufferId>& reads = graph_.ops[item.id].reads;
  return std::find(reads.begin(), reads.end(), b) != reads.end();
}

bool PlanMoves::Begins(const PlanItem& item, BufferId b) const {
  if (!IsOp(item.kind)) return item == PlanItem{ItemKind::kSwapIn, b};
  return graph_.buffers[b].producer == item.id;
}

}  // namespace sn_tf
