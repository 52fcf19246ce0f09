// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/plan_judge.h"

#include <algorithm>

namespace sn_tf {

Judge::Judge(const MemoryGraph& graph, const CostModel& costs,
             const Schedule& route)
    : graph_(graph), costs_(costs), next_partner_(graph.ops.size(), kNone) {
  for (size_t p = 0; p + 1 < route.size(); ++p) {
    const OpId partner = graph.ops[route[p].id].partner;
    if (route[p + 1].id == partner) next_partner_[route[p].id] = partner;
  }
}

Verdict Judge::Of(const Schedule& schedule, int64_t budget_bytes) {
  Reset(schedule);
  Verdict verdict;
  for (size_t p = 0; p < schedule.size(); ++p) {
    first_version_[p] = static_cast<int32_t>(versions_.size());
    if (!Visit(schedule[p], static_cast<Position>(p))) return verdict;
  }
  first_version_[schedule.size()] = static_cast<int32_t>(versions_.size());
  verdict.valid = true;
  HoldAll(schedule);
  int64_t live = verdict.peak_bytes = graph_.resident_bytes;
  int64_t beyond = 0;
  for (size_t p = 0; p < schedule.size(); ++p) {
    live += change_[p];
    if (live > verdict.peak_bytes) {
      verdict.peak_bytes = live;
      verdict.peak = static_cast<Position>(p);
    }
    beyond += std::max<int64_t>(0, live - budget_bytes);
  }
  verdict.excess_bytes = static_cast<double>(beyond) /
                         std::max(1.0, static_cast<double>(schedule.size()));
  verdict.added_seconds = added_;
  return verdict;
}

Verdict Judge::Cleaned(int64_t budget_bytes, Schedule* schedule) {
  Verdict verdict = Of(*schedule, budget_bytes);
  while (verdict.valid) {
    size_t kept = 0;
    for (size_t p = 0; p < schedule->size(); ++p) {
      const PlanItem item = (*schedule)[p];
      if (!IsUnused(item, p)) (*schedule)[kept++] = item;
    }
    if (kept == schedule->size()) break;
    schedule->resize(kept);
    verdict = Of(*schedule, budget_bytes);
  }
  return verdict;
}

void Judge::Reset(const Schedule& schedule) {
  const size_t buffers = graph_.buffers.size();
  versions_.clear();
  latest_.assign(buffers, kNone);
  first_of_.assign(buffers, kNone);
  copies_.assign(buffers, Copy::kNone);
  comes_back_.assign(buffers, false);
  run_at_.assign(graph_.ops.size(), kNone);
  awaited_ = kNone;
  in_place_at_.clear();
  in_place_of_.clear();
  change_.assign(schedule.size() + 1, 0);
  first_version_.resize(schedule.size() + 1);
  now_ = added_ = out_free_ = in_free_ = 0;
  out_end_.assign(buffers, 0);
  in_end_.assign(buffers, 0);
}

bool Judge::Visit(const PlanItem& item, Position p) {
  if (!MayStandThere(item)) return false;
  const BufferId b = item.id;
  switch (item.kind) {
    case ItemKind::kRun:
    case ItemKind::kRecompute:
      return VisitOp(item, p);
    case ItemKind::kSwapOut:
      // A copy is one of the first version.
      if (latest_[b] == kNone || latest_[b] != first_of_[b] ||
          copies_[b] != Copy::kNone) {
        return false;
      }
      copies_[b] = Copy::kLeaving;
      Read(b, p);
      versions_[latest_[b]].copied_out = true;
      CopyOver(b, &out_free_, &out_end_);
      return true;
    case ItemKind::kSwapWait: {
      if (copies_[b] != Copy::kLeaving) return false;
      copies_[b] = Copy::kStored;
      Held& version = versions_[latest_[b]];
      version.end = std::max(version.end, p - 1);
      StallUntil(out_end_[b]);
      return true;
    }
    case ItemKind::kSwapIn:
      if (copies_[b] != Copy::kStored) return false;
      comes_back_[b] = true;
      Begin(b, p);
      in_free_ = std::max(in_free_, out_end_[b]);
      CopyOver(b, &in_free_, &in_end_);
      added_ += graph_.buffers[b].apart_seconds;
      return true;
  }
  return false;
}

// Where the route has two partners one after the other, nothing comes between.
bool Judge::MayStandThere(const PlanItem& item) {
  if (awaited_ != kNone && !(item == PlanItem{ItemKind::kRun, awaited_})) {
    return false;
  }
  awaited_ = item.kind == ItemKind::kRun ? next_partner_[item.id] : kNone;
  return true;
}

bool Judge::VisitOp(const PlanItem& item, Position p) {
  const Op& op = graph_.ops[item.id];
  if (item.kind == ItemKind::kRecompute) {
    if (run_at_[item.id] == kNone || !MayRunAgain(op)) return false;
    added_ += op.seconds;
  } else {
    run_at_[item.id] = p;
  }
  for (const BufferId b : op.reads) {
    if (latest_[b] == kNone) return false;
    Read(b, p);
    StallUntil(in_end_[b]);
  }
  NoteInPlace(op, p);
  for (const BufferId b : op.writes) {
    if (copies_[b] == Copy::kLeaving) return false;
    Begin(b, p);
  }
  Hold(p, p, op.workspace_bytes);
  now_ += op.seconds;
  return true;
}

bool Judge::MayRunAgain(const Op& op) const {
  if (!op.pure) return false;
  return std::none_of(op.reads.begin(), op.reads.end(), [this](BufferId b) {
    const Buffer& read = graph_.buffers[b];
    return read.view && read.overwriter != kNone &&
           run_at_[read.overwriter] != kNone;
  });
}

void Judge::NoteInPlace(const Op& op, Position p) {
  if (op.in_place.empty()) return;
  in_place_at_.push_back(p);
  for (const BufferId b : op.in_place.inputs) {
    in_place_of_.push_back(latest_[b]);
  }
}

void Judge::Begin(BufferId b, Position p) {
  latest_[b] = static_cast<int32_t>(versions_.size());
  if (first_of_[b] == kNone) first_of_[b] = latest_[b];
  versions_.push_back({b, p, p, kNone, false});
}

void Judge::Read(BufferId b, Position p) {
  Held& version = versions_[latest_[b]];
  version.last_read = p;
  version.end = std::max(version.end, p);
}

void Judge::StallUntil(double time) {
  if (time <= now_) return;
  added_ += time - now_;
  now_ = time;
}

void Judge::CopyOver(BufferId b, double* link_free, std::vector<double>* end) {
  const int64_t bytes = graph_.buffers[b].bytes;
  *link_free = std::max(now_, *link_free) + costs_.CopySeconds(bytes);
  (*end)[b] = *link_free;
  added_ += costs_.HiddenCopyCost(bytes);
}

void Judge::Hold(Position begin, Position end, int64_t bytes) {
  change_[begin] += bytes;
  change_[end + 1] -= bytes;
}

void Judge::HoldAll(const Schedule& schedule) {
  views_until_.assign(graph_.ops.size(), kNone);
  for (const Held& version : versions_) {
    const Buffer& buffer = graph_.buffers[version.buffer];
    if (!buffer.view) {
      Hold(version.begin, version.end, buffer.bytes);
    } else if (buffer.overwriter != kNone &&
               version.end > run_at_[buffer.overwriter]) {
      // All the views of a variable share its old values.
      Position& until = views_until_[buffer.overwriter];
      if (version.end <= until) continue;
      const Position from = std::max(until + 1, run_at_[buffer.overwriter]);
      Hold(from, version.end, buffer.bytes);
      until = version.end;
    }
  }
  size_t next = 0;
  for (const Position p : in_place_at_) {
    const OpId op = schedule[p].id;
    bool in_place = true;
    for (size_t i = 0; i < graph_.ops[op].in_place.inputs.size(); ++i) {
      in_place = EndsAt(schedule, in_place_of_[next++], p) && in_place;
    }
    if (in_place) Hold(p, p, -graph_.InPlaceBytes(op));
  }
}

// See sn_tf::EndsAt.
bool Judge::EndsAt(const Schedule& schedule, int32_t number,
                   Position at) const {
  if (number == kNone) return false;
  const Held& version = versions_[number];
  return version.end == at && version.last_read == at && !version.copied_out &&
         (schedule[version.begin].kind != ItemKind::kSwapIn ||
          latest_[version.buffer] == number);
}

bool Judge::IsUnused(const PlanItem& item, size_t p) const {
  switch (item.kind) {
    case ItemKind::kRun:
      return false;
    case ItemKind::kSwapOut:
    case ItemKind::kSwapWait:
      return !comes_back_[item.id];
    case ItemKind::kRecompute:
    case ItemKind::kSwapIn:
      break;
  }
  return std::all_of(versions_.begin() + first_version_[p],
                     versions_.begin() + first_version_[p + 1],
                     [](const Held& held) { return held.last_read == kNone; });
}

}  // namespace sn_tf
