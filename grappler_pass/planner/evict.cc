// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/evict.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/memory_profile.h"
#include "grappler_pass/planner/recompute.h"
#include "grappler_pass/planner/schedule_edit.h"
#include "grappler_pass/planner/span_index.h"
#include "grappler_pass/planner/timeline.h"

namespace sn_tf {
namespace {

// More rounds than any graph has needed; each adds items, so it would end
// anyway.
constexpr int kMaxRounds = 60;

// After so many rounds it shows how far the others will get: not more than this
// many times as far in each.
constexpr int kTellingRounds = 4;
constexpr int64_t kMostFaster = 2;

// Memory that version `version` holds but nobody uses, between the uses at
// `last_use` and `next_use`.
struct Window {
  int32_t version;
  Position last_use;
  Position next_use;
  double score = 0;  // Cost per byte and per position relieved.
  bool swap = false;
  RecomputeChain chain;
};

class Round {
 public:
  Round(const MemoryGraph& graph, const CostModel& costs,
        const EvictOptions& options, const Schedule& schedule)
      : graph_(graph),
        costs_(costs),
        options_(options),
        schedule_(schedule),
        liveness_(AnalyzeLiveness(graph, schedule)),
        stored_(StoredBuffers(graph, schedule)),
        profile_(liveness_.live_bytes),
        chains_(graph, costs, schedule, liveness_, stored_) {}

  int64_t peak_bytes() const { return liveness_.peak_bytes(); }

  // Empty where no window could be taken.
  Schedule Run() {
    if (peak_bytes() <= options_.budget_bytes) return {};
    CountPositionsOver();
    CollectWindows();
    SpanIndex index(static_cast<Position>(schedule_.size()), Spans());
    while (true) {
      const auto [bytes, position] = profile_.Peak();
      if (bytes <= options_.budget_bytes) break;
      const int32_t best = index.FirstOver(position);
      if (best == kNone) break;  // No lower peak is within reach.
      index.Remove(best);
      Take(windows_[best]);
    }
    if (inserter_.empty()) return {};
    return DropUnused(graph_, inserter_.Apply(schedule_));
  }

 private:
  void CountPositionsOver() {
    over_before_.assign(schedule_.size() + 1, 0);
    for (size_t p = 0; p < schedule_.size(); ++p) {
      over_before_[p + 1] =
          over_before_[p] +
          (liveness_.live_bytes[p] > options_.budget_bytes ? 1 : 0);
    }
  }

  void CollectWindows() {
    for (size_t v = 0; v < liveness_.versions.size(); ++v) {
      const Version& version = liveness_.versions[v];
      const Buffer& buffer = graph_.buffers[version.buffer];
      if (!buffer.MayMove(options_.min_buffer_bytes)) continue;
      Position last = version.begin;
      for (const Position read : version.reads) {
        if (schedule_[read].kind == ItemKind::kSwapOut) continue;
        Offer({static_cast<int32_t>(v), last, read, 0, false, {}});
        last = read;
      }
    }
    std::stable_sort(
        windows_.begin(), windows_.end(),
        [](const Window& a, const Window& b) { return a.score < b.score; });
  }

  std::vector<Span> Spans() const {
    std::vector<Span> spans;
    spans.reserve(windows_.size());
    for (const Window& window : windows_) {
      spans.push_back({window.last_use + 1, window.next_use - 1});
    }
    return spans;
  }

  void Offer(Window window) {
    const int32_t relieved =
        over_before_[window.next_use] - over_before_[window.last_use + 1];
    if (relieved == 0) return;
    const BufferId b = liveness_.versions[window.version].buffer;
    const int64_t bytes = graph_.buffers[b].bytes;
    double cost = std::numeric_limits<double>::infinity();
    if (options_.allow_swap) {
      cost = costs_.HiddenCopyCost(bytes) * (stored_[b] ? 1 : 2) +
             graph_.buffers[b].apart_seconds;
      window.swap = true;
    }
    if (options_.allow_recompute) {
      if (auto chain = chains_.Find(b, window.next_use, cost)) {
        cost = chain->seconds;
        window.swap = false;
        window.chain = *std::move(chain);
      } else if (!window.swap) {
        return;
      }
    }
    // Bytes beyond what is missing relieve nothing.
    const int64_t missing =
        profile_.Max(window.last_use + 1, window.next_use - 1) -
        options_.budget_bytes;
    window.score =
        cost / (static_cast<double>(std::min(bytes, missing)) * relieved);
    windows_.push_back(std::move(window));
  }

  void Take(const Window& window) {
    const BufferId b = liveness_.versions[window.version].buffer;
    profile_.Add(window.last_use + 1, window.next_use - 1,
                 -graph_.buffers[b].bytes);
    if (!window.swap) {
      inserter_.ChainBefore(window.next_use, window.chain.items);
      return;
    }
    if (!stored_[b]) {
      const Position producer =
          liveness_.versions[liveness_.of_buffer[b].front()].begin;
      inserter_.SwapOutAfter(producer, b);
    }
    inserter_.SwapInBefore(window.next_use, b);
  }

  const MemoryGraph& graph_;
  const CostModel& costs_;
  const EvictOptions& options_;
  const Schedule& schedule_;
  const Liveness liveness_;
  const std::vector<bool> stored_;
  MemoryProfile profile_;
  ChainFinder chains_;
  std::vector<int32_t> over_before_;
  std::vector<Window> windows_;  // The one that costs least per byte first.
  ScheduleInserter inserter_;
};

// One pass of RestoreWhereFits: merges versions into their predecessors.
class Restorer {
 public:
  Restorer(const MemoryGraph& graph, const CostModel& costs, int64_t budget,
           const Schedule& schedule)
      : graph_(graph),
        costs_(costs),
        budget_(budget),
        schedule_(schedule),
        liveness_(AnalyzeLiveness(graph, schedule)),
        profile_(liveness_.live_bytes),
        removed_(schedule.size(), false),
        root_(liveness_.versions.size()) {
    for (size_t v = 0; v < root_.size(); ++v) {
      root_[v] = static_cast<int32_t>(v);
      end_.push_back(liveness_.versions[v].end);
    }
    for (size_t p = 0; p < schedule.size(); ++p) {
      const bool shares =
          WritesInPlace(graph, schedule, liveness_, static_cast<Position>(p));
      in_place_.push_back(shares ? graph.InPlaceBytes(schedule[p].id) : 0);
    }
  }

  Schedule Run() {
    for (const auto& [score, position] : Candidates()) TryRemove(position);
    Schedule kept;
    for (size_t p = 0; p < schedule_.size(); ++p) {
      if (!removed_[p]) kept.push_back(schedule_[p]);
    }
    return DropUnused(graph_, std::move(kept));
  }

 private:
  // Items that could be taken back, the one that costs most per byte kept and
  // position first.
  std::vector<std::pair<double, Position>> Candidates() const {
    std::vector<std::pair<double, Position>> candidates;
    for (size_t p = 0; p < schedule_.size(); ++p) {
      const std::vector<int32_t> begun = VersionsBegunAt(p);
      if (begun.empty()) continue;
      double space = 1;
      for (const int32_t v : begun) {
        const int32_t previous = PreviousOf(v);
        const Version& version = liveness_.versions[v];
        space += static_cast<double>(graph_.buffers[version.buffer].bytes) *
                 (version.begin - liveness_.versions[previous].end);
      }
      candidates.push_back(
          {-ItemCost(schedule_[p]) / space, static_cast<Position>(p)});
    }
    std::sort(candidates.begin(), candidates.end());
    return candidates;
  }

  double ItemCost(const PlanItem& item) const {
    if (item.kind != ItemKind::kSwapIn) return graph_.ops[item.id].seconds;
    const Buffer& buffer = graph_.buffers[item.id];
    return 2 * costs_.HiddenCopyCost(buffer.bytes) + buffer.apart_seconds;
  }

  // Versions that a swap_in or a recomputation at `p` begins.
  std::vector<int32_t> VersionsBegunAt(size_t p) const {
    const PlanItem& item = schedule_[p];
    std::vector<BufferId> written;
    if (item.kind == ItemKind::kSwapIn) written = {item.id};
    if (item.kind == ItemKind::kRecompute) written = graph_.ops[item.id].writes;
    std::vector<int32_t> begun;
    for (const BufferId b : written) {
      begun.push_back(liveness_.LastBefore(b, static_cast<Position>(p) + 1));
    }
    return begun;
  }

  int32_t PreviousOf(int32_t version) const {
    const Version& begun = liveness_.versions[version];
    return liveness_.LastBefore(begun.buffer, begun.begin);
  }

  int32_t RootOf(int32_t version) {
    while (root_[version] != version) {
      version = root_[version] = root_[root_[version]];
    }
    return version;
  }

  // More memory in [begin, end].
  struct Added {
    Position begin;
    Position end;
    int64_t bytes;
  };

  void TryRemove(Position p) {
    const std::vector<int32_t> begun = VersionsBegunAt(p);
    std::vector<Added> added;
    for (const int32_t v : begun) {
      if (Extend(v, &added)) continue;
      for (const Added& more : added) {
        profile_.Add(more.begin, more.end, -more.bytes);
      }
      return;
    }
    removed_[p] = true;
    for (const int32_t v : begun) {
      const int32_t root = RootOf(PreviousOf(v));
      if (EndsInPlace(root)) in_place_[end_[root]] = 0;
      end_[root] = std::max(end_[root], end_[v]);
      root_[v] = root;
    }
  }

  // Adds what is held when the version before `version` lives on until that
  // begins; false where it passes the budget.
  bool Extend(int32_t version, std::vector<Added>* added) {
    const Version& begun = liveness_.versions[version];
    const int32_t root = RootOf(PreviousOf(version));
    const Position end = end_[root];
    return Add({end + 1, begun.begin - 1, graph_.buffers[begun.buffer].bytes},
               added) &&
           (!EndsInPlace(root) || Add({end, end, in_place_[end]}, added));
  }

  bool Add(const Added& more, std::vector<Added>* added) {
    if (more.begin > more.end) return true;
    if (profile_.Max(more.begin, more.end) + more.bytes > budget_) return false;
    profile_.Add(more.begin, more.end, more.bytes);
    added->push_back(more);
    return true;
  }

  // Whether its memory goes on as that of what is written in place.
  bool EndsInPlace(int32_t root) const {
    const Position end = end_[root];
    if (in_place_[end] == 0) return false;
    const std::vector<BufferId>& inputs =
        graph_.ops[schedule_[end].id].in_place.inputs;
    return std::binary_search(inputs.begin(), inputs.end(),
                              liveness_.versions[root].buffer);
  }

  const MemoryGraph& graph_;
  const CostModel& costs_;
  const int64_t budget_;
  const Schedule& schedule_;
  const Liveness liveness_;
  MemoryProfile profile_;
  std::vector<bool> removed_;
  std::vector<int32_t> root_;
  std::vector<Position> end_;
  // Per position: bytes that the op there writes in place.
  std::vector<int64_t> in_place_;
};

// Whether the peak, `first_peak` so many rounds ago, will come to nothing of
// use. Without swaps, each round of a deep network gets a few layers further
// and adds more ops than the one before.
bool IsHopeless(const EvictOptions& options, int rounds, int64_t first_peak,
                int64_t peak) {
  if (options.useless_above_bytes == 0 || rounds < kTellingRounds) return false;
  const int64_t gained = first_peak - peak;
  return peak - kMostFaster * gained * (kMaxRounds - rounds) / rounds >
         options.useless_above_bytes;
}

}  // namespace

Schedule EvictUntilFits(const MemoryGraph& graph, const CostModel& costs,
                        const EvictOptions& options, Schedule schedule) {
  int64_t first_peak = 0;
  for (int rounds = 0; rounds < kMaxRounds; ++rounds) {
    Round round(graph, costs, options, schedule);
    if (rounds == 0) first_peak = round.peak_bytes();
    if (IsHopeless(options, rounds, first_peak, round.peak_bytes())) break;
    Schedule next = round.Run();
    if (next.empty() || next == schedule) break;
    schedule = std::move(next);
    const AddedTime added = Simulate(graph, costs, schedule).added;
    if (added.recompute > options.most_recompute_seconds) break;
  }
  return schedule;
}

Schedule RestoreWhereFits(const MemoryGraph& graph, const CostModel& costs,
                          int64_t budget_bytes, Schedule schedule) {
  Schedule restored = Restorer(graph, costs, budget_bytes, schedule).Run();
  return AnalyzeLiveness(graph, restored).peak_bytes() <= budget_bytes
             ? restored
             : schedule;
}

}  // namespace sn_tf
