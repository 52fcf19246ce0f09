// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/rematerialize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "grappler_pass/planner/liveness.h"
#include "grappler_pass/planner/prospect.h"
#include "grappler_pass/planner/schedule_edit.h"
#include "grappler_pass/planner/timeline.h"

namespace sn_tf {
namespace {

// Recomputation that takes longer than so many steps is no plan.
constexpr double kMostSteps = 2;
// Seconds that stand for a chain that is too long.
constexpr double kTooLong = 1e30;
// Candidates looked at again before one is dropped.
constexpr int kMostLooks = 64;
// What scores may be multiplied by at random.
constexpr double kMostNoise = 4;
// Of one chain: each op of it is a level of recursion.
constexpr int kMostDepth = 1000;

class Execution {
 public:
  Execution(const Prospect& prospect, const RematerializeOptions& options)
      : prospect_(prospect),
        graph_(prospect.graph()),
        options_(options),
        route_(prospect.route()),
        next_use_(graph_.buffers.size(), 0),
        present_(graph_.buffers.size(), false),
        locks_(graph_.buffers.size(), 0),
        search_of_(graph_.ops.size(), 0),
        live_bytes_(graph_.resident_bytes),
        seconds_left_(kMostSteps * prospect.step_seconds()) {}

  Schedule Run() {
    for (size_t p = 0; p < route_.size(); ++p) {
      at_ = static_cast<Position>(p);
      if (!Execute(route_[p])) return {};
    }
    return std::move(schedule_);
  }

 private:
  // A buffer that may be dropped. Scores only grow as its next use comes
  // nearer, so that one that is no longer right is seen when it comes up.
  struct Candidate {
    double score;
    BufferId buffer;

    bool operator<(const Candidate& other) const {
      return std::tie(other.score, other.buffer) < std::tie(score, buffer);
    }
  };

  bool IsManaged(BufferId b) const { return !graph_.buffers[b].view; }

  // Runs an op for the first time or again: its inputs, room, the op.
  bool Execute(const PlanItem& item) {
    const Op& op = graph_.ops[item.id];
    // All first, so that none is dropped to make room for another.
    for (const BufferId b : op.reads) ++locks_[b];
    bool done = true;
    for (const BufferId b : op.reads) done = done && Have(b);
    if (item.kind == ItemKind::kRun) Advance(op);
    done = done && MakeRoomFor(op);
    if (done) {
      schedule_.push_back(item);
      for (const BufferId b : op.writes) Appear(b);
    }
    for (const BufferId b : op.reads) Unlock(b);
    if (options_.rescore == Rescore::kAfterUse && item.kind == ItemKind::kRun) {
      for (const BufferId b : op.reads) {
        if (present_[b]) Consider(b);
      }
    }
    for (const BufferId b : op.writes) DropIfUseless(b);
    return done;
  }

  // Has `b` in memory. What is locked stays there until Unlock.
  bool Have(BufferId b) { return !IsManaged(b) || present_[b] || Recompute(b); }

  void Unlock(BufferId b) {
    --locks_[b];
    DropIfUseless(b);
  }

  bool Recompute(BufferId b) {
    const OpId op = graph_.buffers[b].producer;
    seconds_left_ -= graph_.ops[op].seconds;
    if (seconds_left_ < 0 || prospect_.LimitOf(op) < at_ ||
        depth_ == kMostDepth) {
      return false;
    }
    ++depth_;
    const bool done = Execute({ItemKind::kRecompute, op});
    --depth_;
    return done;
  }

  bool MakeRoomFor(const Op& op) {
    int64_t bytes = op.workspace_bytes;
    if (WillWriteInPlace(op)) {
      bytes -= graph_.buffers[op.in_place.output].bytes;
    }
    for (const BufferId b : op.writes) {
      if (IsManaged(b) && !present_[b]) bytes += graph_.buffers[b].bytes;
    }
    // Of what it writes, nothing is dropped to make room for the rest.
    for (const BufferId b : op.writes) ++locks_[b];
    bool fits = true;
    while (fits && live_bytes_ + bytes > options_.budget_bytes) {
      fits = DropOne();
    }
    for (const BufferId b : op.writes) --locks_[b];
    return fits;
  }

  // Whether nothing else needs what `op`, whose reads are locked, overwrites.
  bool WillWriteInPlace(const Op& op) const {
    const std::vector<BufferId>& inputs = op.in_place.inputs;
    return !inputs.empty() && !present_[op.in_place.output] &&
           std::all_of(inputs.begin(), inputs.end(), [this](BufferId b) {
             return locks_[b] == 1 && NextUse(b) == prospect_.End();
           });
  }

  bool DropOne() {
    std::vector<Candidate> locked;
    int looks = 0;
    BufferId chosen = kNone;
    while (chosen == kNone && !candidates_.empty()) {
      const Candidate top = candidates_.top();
      candidates_.pop();
      if (!present_[top.buffer] || !MayBeDropped(top.buffer)) continue;
      if (locks_[top.buffer] > 0) {
        locked.push_back(top);
        continue;
      }
      const double score = Score(top.buffer);
      if (candidates_.empty() || score <= candidates_.top().score ||
          ++looks == kMostLooks) {
        chosen = top.buffer;
      } else {
        candidates_.push({score, top.buffer});
      }
    }
    for (const Candidate& candidate : locked) candidates_.push(candidate);
    if (chosen == kNone) return false;
    Disappear(chosen);
    return true;
  }

  // Whether it can be computed anew when it is needed next. If not, then not
  // later either.
  bool MayBeDropped(BufferId b) const {
    return NextUse(b) <= prospect_.LimitOf(graph_.buffers[b].producer);
  }

  // Seconds per byte, and for how long it is not needed.
  double Score(BufferId b) {
    ++search_;
    int ops = 0;
    const double seconds = ChainSeconds(graph_.buffers[b].producer, &ops);
    const double distance =
        std::pow(NextUse(b) - at_ + 1, options_.distance_power);
    return Noise(b) * seconds /
           (static_cast<double>(graph_.buffers[b].bytes) * distance);
  }

  double Noise(BufferId b) const {
    if (options_.noise == 0) return 1;
    // Multiplications that mix the bits (of the golden ratio, and others).
    uint64_t bits = (uint64_t{options_.noise} << 32) + static_cast<uint64_t>(b);
    bits *= 0x9e3779b97f4a7c15;
    bits ^= bits >> 29;
    bits *= 0xbf58476d1ce4e5b9;
    bits ^= bits >> 32;
    const double share = static_cast<double>(bits & 0xffff) / 0x10000;
    return std::pow(kMostNoise, 2 * share - 1);
  }

  // Of the op, and of those whose buffers it would miss.
  double ChainSeconds(OpId op, int* ops) {
    search_of_[op] = search_;
    double seconds = graph_.ops[op].seconds;
    if (++*ops > options_.longest_chain) return kTooLong;
    for (const BufferId b : graph_.ops[op].reads) {
      const OpId producer = graph_.buffers[b].producer;
      if (IsManaged(b) && !present_[b] && search_of_[producer] != search_) {
        seconds += ChainSeconds(producer, ops);
      }
    }
    return seconds;
  }

  void Appear(BufferId b) {
    if (!IsManaged(b) || present_[b]) return;
    const Buffer& buffer = graph_.buffers[b];
    present_[b] = true;
    live_bytes_ += buffer.bytes;
    Consider(b);
  }

  void Consider(BufferId b) {
    if (graph_.buffers[b].MayMove(options_.min_buffer_bytes) &&
        MayBeDropped(b)) {
      candidates_.push({Score(b), b});
    }
  }

  void Disappear(BufferId b) {
    present_[b] = false;
    live_bytes_ -= graph_.buffers[b].bytes;
  }

  // What nobody reads any more goes; what others are computed from can be
  // computed anew.
  void DropIfUseless(BufferId b) {
    if (present_[b] && locks_[b] == 0 && NextUse(b) == prospect_.End())
      Disappear(b);
  }

  void Advance(const Op& op) {
    for (const BufferId b : op.reads) ++next_use_[b];
  }

  Position NextUse(BufferId b) const {
    const Slice uses = prospect_.UsesOf(b);
    const auto next = static_cast<size_t>(next_use_[b]);
    return next < uses.size() ? uses[next] : prospect_.End();
  }

  const Prospect& prospect_;
  const MemoryGraph& graph_;
  const RematerializeOptions& options_;
  const Schedule& route_;
  Schedule schedule_;
  Position at_ = 0;
  std::vector<int32_t> next_use_;  // Of each buffer, among its uses.
  std::vector<bool> present_;
  std::vector<int> locks_;
  std::priority_queue<Candidate> candidates_;
  int64_t search_ = 0;
  std::vector<int64_t> search_of_;  // The latest that has come to each op.
  int64_t live_bytes_;
  double seconds_left_;
  int depth_ = 0;
};

struct Variant {
  double distance_power;
  int longest_chain;
  Rescore rescore = Rescore::kWhenChosen;
  uint32_t noise = 0;
};

// What to try: which is best depends on the graph and the budget.
constexpr Variant kVariants[] = {{0.25, 8},
                                 {0.25, 32},
                                 {0.25, 128},
                                 {0.5, 8},
                                 {0.5, 32},
                                 {0.5, 128},
                                 {1, 8},
                                 {1, 32},
                                 {1, 128},
                                 {0.25, 32, Rescore::kAfterUse},
                                 {0.5, 32, Rescore::kAfterUse},
                                 {1, 32, Rescore::kAfterUse}};
// The same again with noise, as often as the size of the graph lets it take
// little time.
constexpr size_t kMostNoisy = 24;
constexpr size_t kNoisyOps = 100'000;

std::vector<Variant> VariantsFor(const Schedule& route) {
  std::vector<Variant> variants(std::begin(kVariants), std::end(kVariants));
  const size_t more =
      std::min(kMostNoisy, kNoisyOps / std::max<size_t>(1, route.size()));
  for (size_t i = 0; i < more; ++i) {
    variants.push_back(kVariants[i % std::size(kVariants)]);
    variants.back().noise = static_cast<uint32_t>(i + 1);
  }
  return variants;
}

// Variables that are overwritten while they are still to be read take memory
// that the execution does not see.
constexpr int kMostCorrections = 3;

Schedule Execute(const Prospect& prospect,
                 const RematerializeOptions& options) {
  const Schedule schedule = Execution(prospect, options).Run();
  return schedule.empty() ? schedule : DropUnused(prospect.graph(), schedule);
}

Schedule WithinBudget(const Prospect& prospect, int64_t budget_bytes,
                      int64_t min_buffer_bytes, const Variant& variant) {
  RematerializeOptions options = {budget_bytes,           min_buffer_bytes,
                                  variant.distance_power, variant.longest_chain,
                                  variant.rescore,        variant.noise};
  for (int i = 0; i < kMostCorrections; ++i) {
    Schedule schedule = Execute(prospect, options);
    if (schedule.empty()) break;
    const int64_t beyond =
        AnalyzeLiveness(prospect.graph(), schedule).peak_bytes() - budget_bytes;
    if (beyond <= 0) return schedule;
    options.budget_bytes -= beyond;
  }
  return {};
}

}  // namespace

Schedule Rematerialize(const MemoryGraph& graph,
                       const RematerializeOptions& options,
                       const Schedule& route) {
  return Execute(Prospect(graph, route), options);
}

Schedule FastestRematerialization(const MemoryGraph& graph,
                                  int64_t budget_bytes,
                                  int64_t min_buffer_bytes,
                                  const Schedule& route) {
  const Prospect prospect(graph, route);
  Schedule fastest;
  double least_seconds = 0;
  for (const Variant& variant : VariantsFor(route)) {
    Schedule schedule =
        WithinBudget(prospect, budget_bytes, min_buffer_bytes, variant);
    if (schedule.empty()) continue;
    const double seconds =
        Simulate(graph, CostModel(), schedule).added.recompute;
    if (!fastest.empty() && seconds >= least_seconds) continue;
    least_seconds = seconds;
    fastest = std::move(schedule);
  }
  return fastest;
}

int64_t SmallestRematerializationBudget(const MemoryGraph& graph,
                                        int64_t min_buffer_bytes,
                                        const Schedule& route) {
  const Prospect prospect(graph, route);
  const std::vector<Variant> variants = VariantsFor(route);
  int64_t least = graph.FloorBytes() - 1;  // Not met.
  int64_t met = AnalyzeLiveness(graph, route).peak_bytes();
  while (met - least > 1 + met / 1024) {
    const int64_t budget = least + (met - least) / 2;
    const bool meets = std::any_of(
        variants.begin(), variants.end(), [&](const Variant& variant) {
          return !WithinBudget(prospect, budget, min_buffer_bytes, variant)
                      .empty();
        });
    (meets ? met : least) = budget;
  }
  return met;
}

}  // namespace sn_tf
