// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/side_by_side.h"

#include <algorithm>
#include <utility>

namespace sn_tf {
namespace {

// Less is not worth a change of the order.
constexpr double kLeastSeconds = 1e-5;

// One op, or two that may be fused.
struct Unit {
  Position begin = 0;
  Position end = 0;
  // Whether an item that is no op of memory stands before it.
  bool apart = false;
};

class Search {
 public:
  Search(const MemoryGraph& graph, const Schedule& schedule, int64_t peak_bytes)
      : graph_(graph),
        schedule_(schedule),
        liveness_(AnalyzeLiveness(graph, schedule)),
        peak_bytes_(peak_bytes),
        begun_bytes_(schedule.size(), 0) {
    for (const Version& version : liveness_.versions) {
      const Buffer& buffer = graph.buffers[version.buffer];
      if (!buffer.view) begun_bytes_[version.begin] += buffer.bytes;
    }
    FindUnits();
  }

  // `best[u]`: the most seconds side by side among the first u units.
  std::vector<SideBySide> Run() const {
    std::vector<double> best(units_.size() + 1, 0);
    std::vector<bool> paired(units_.size() + 1, false);
    for (size_t u = 1; u < units_.size(); ++u) {
      best[u + 1] = best[u];
      const double seconds = SecondsTogether(units_[u - 1], units_[u]);
      if (best[u - 1] + seconds <= best[u]) continue;
      best[u + 1] = best[u - 1] + seconds;
      paired[u + 1] = true;
    }
    std::vector<SideBySide> pairs;
    for (size_t u = units_.size(); u > 0;) {
      if (!paired[u]) {
        --u;
        continue;
      }
      pairs.push_back(
          {units_[u - 2].end, units_[u - 1].begin, units_[u - 1].end});
      u -= 2;
    }
    std::reverse(pairs.begin(), pairs.end());
    return pairs;
  }

 private:
  const Op& OpAt(Position p) const { return graph_.ops[schedule_[p].id]; }

  void FindUnits() {
    bool apart = false;
    OpId last = kNone;
    for (size_t i = 0; i < schedule_.size(); ++i) {
      const auto p = static_cast<Position>(i);
      const PlanItem& item = schedule_[i];
      if (item.kind == ItemKind::kSwapOut) continue;  // Not ordered.
      if (item.kind != ItemKind::kRun) {
        apart = true;
        last = kNone;
        continue;
      }
      if (!graph_.TouchesMemory(item.id)) continue;
      if (last != kNone && !apart && OpAt(p).partner == last) {
        units_.back().end = p;
      } else {
        units_.push_back({p, p, apart});
      }
      apart = false;
      last = item.id;
    }
  }

  template <typename Visit>
  void ForEachOp(const Unit& unit, Visit visit) const {
    visit(unit.begin);
    if (unit.end != unit.begin) visit(unit.end);
  }

  double SecondsOf(const Unit& unit) const {
    double seconds = 0;
    ForEachOp(unit, [&](Position p) { seconds += OpAt(p).seconds; });
    return seconds;
  }

  bool IsPure(const Unit& unit) const {
    bool pure = true;
    ForEachOp(unit, [&](Position p) { pure &= OpAt(p).pure; });
    return pure;
  }

  bool Needs(const Op& op, const Op& other, OpId other_id) const {
    const auto wrote = [&other](BufferId b) {
      return std::binary_search(other.writes.begin(), other.writes.end(), b);
    };
    return std::any_of(op.reads.begin(), op.reads.end(), wrote) ||
           std::binary_search(op.after.begin(), op.after.end(), other_id);
  }

  bool NeedEachOther(const Unit& first, const Unit& second) const {
    bool need = false;
    ForEachOp(second, [&](Position p) {
      ForEachOp(first, [&](Position q) {
        need |= Needs(OpAt(p), OpAt(q), schedule_[q].id);
      });
    });
    return need;
  }

  // Nothing that either begins with is free before both have ended.
  int64_t BytesTogether(const Unit& first, const Unit& second) const {
    int64_t bytes = liveness_.live_bytes[first.begin];
    for (Position p = first.begin + 1; p <= second.end; ++p) {
      bytes += begun_bytes_[p];
      if (IsOp(schedule_[p].kind)) bytes += OpAt(p).workspace_bytes;
    }
    return bytes;
  }

  // 0 where they had better run one after the other.
  double SecondsTogether(const Unit& first, const Unit& second) const {
    if (second.apart || !IsPure(first) || !IsPure(second)) return 0;
    const double seconds = std::min(SecondsOf(first), SecondsOf(second));
    if (seconds < kLeastSeconds || NeedEachOther(first, second)) return 0;
    return BytesTogether(first, second) <= peak_bytes_ ? seconds : 0;
  }

  const MemoryGraph& graph_;
  const Schedule& schedule_;
  const Liveness liveness_;
  const int64_t peak_bytes_;
  // Per position: of the versions that begin there.
  std::vector<int64_t> begun_bytes_;
  std::vector<Unit> units_;
};

}  // namespace

std::vector<SideBySide> FindSideBySide(const MemoryGraph& graph,
                                       const Schedule& schedule,
                                       int64_t peak_bytes) {
  return Search(graph, schedule, peak_bytes).Run();
}

}  // namespace sn_tf
