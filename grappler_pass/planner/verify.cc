// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/verify.h"

#include <algorithm>
#include <vector>

#include "grappler_pass/planner/phases.h"

namespace sn_tf {
namespace {

// A machine with one slot per buffer: what runs on it is the plan.
class Machine {
 public:
  Machine(const MemoryGraph& graph, const MemoryPlan& plan)
      : graph_(graph), plan_(plan), slots_(graph.buffers.size()) {}

  std::string Run() {
    FindLastReads();
    ran_.assign(graph_.ops.size(), false);
    in_use_ = peak_ = graph_.resident_bytes;
    for (size_t p = 0; p < plan_.schedule.size() && error_.empty(); ++p) {
      Execute(p);
    }
    if (error_.empty()) CheckEnd();
    return error_;
  }

 private:
  struct Slot {
    bool defined = false;  // Some version exists or existed.
    bool in_memory = false;
    bool stored = false;       // On a tier, or on its way there.
    bool copying_out = false;  // Until the wait.
    bool swapped_in = false;
    bool read_ended = false;  // Only the copy out holds the memory.
    bool outdated = false;    // A view whose variable was overwritten.
    // Of the version in memory:
    size_t last_read = 0;
    bool copied = false;    // A copy of it was made, or it is one.
    bool followed = false;  // By another version.
  };

  // A version that begins.
  struct Begun {
    size_t last_read = 0;  // See Slot.
    bool followed = false;
  };

  void Fail(size_t p, const std::string& what) {
    if (error_.empty()) {
      error_ = "position " + std::to_string(p) + ": " + what;
    }
  }

  // Backwards: the first read met after a definition (or the end) is the last
  // read of the version before it. Position + 1; 0: none.
  void FindLastReads() {
    const Schedule& items = plan_.schedule;
    std::vector<size_t> pending(graph_.buffers.size(), 0);
    begun_.resize(items.size());
    for (size_t p = items.size(); p-- > 0;) {
      const PlanItem& item = items[p];
      if (IsOp(item.kind)) {
        for (const BufferId b : graph_.ops[item.id].writes) {
          NoteBegin(p, b, &pending);
        }
        for (const BufferId b : graph_.ops[item.id].reads) {
          pending[b] = std::max(pending[b], p + 1);
        }
      } else if (item.kind == ItemKind::kSwapOut) {
        pending[item.id] = std::max(pending[item.id], p + 1);
      } else if (item.kind == ItemKind::kSwapIn) {
        NoteBegin(p, item.id, &pending);
      }
    }
  }

  void NoteBegin(size_t p, BufferId b, std::vector<size_t>* pending) {
    begun_[p].push_back({(*pending)[b], slots_[b].followed});
    (*pending)[b] = 0;
    slots_[b].followed = true;
  }

  void Execute(size_t p) {
    const PlanItem& item = plan_.schedule[p];
    switch (item.kind) {
      case ItemKind::kRun:
      case ItemKind::kRecompute:
        ExecuteOp(p, item);
        break;
      case ItemKind::kSwapOut:
        ExecuteSwapOut(p, item.id);
        break;
      case ItemKind::kSwapWait:
        ExecuteSwapWait(p, item.id);
        break;
      case ItemKind::kSwapIn:
        ExecuteSwapIn(p, item.id);
        break;
    }
    peak_ = std::max(peak_, in_use_);
  }

  void ExecuteOp(size_t p, const PlanItem& item) {
    const Op& op = graph_.ops[item.id];
    if (item.kind == ItemKind::kRun) {
      if (ran_[item.id]) return Fail(p, op.name + " runs twice");
      ran_[item.id] = true;
    } else if (!op.pure || !ran_[item.id]) {
      return Fail(p, op.name + " is recomputed but may not be");
    }
    for (const OpId before : op.after) {
      if (!ran_[before]) {
        return Fail(p, op.name + " runs before " + graph_.ops[before].name);
      }
    }
    for (const BufferId b : op.reads) {
      if (!slots_[b].in_memory) {
        return Fail(p, op.name + " reads " + graph_.buffers[b].name +
                           ", which is not in memory");
      }
    }
    for (size_t k = 0; k < op.writes.size(); ++k) {
      Define(op.writes[k], begun_[p][k], p);
    }
    OverwriteViews(p, item);
    const int64_t shared = IsInPlace(op, p) ? graph_.InPlaceBytes(item.id) : 0;
    peak_ = std::max(peak_, in_use_ + op.workspace_bytes - shared);
    for (const BufferId b : op.writes) ReleaseIfRead(b, p);
    for (const BufferId b : op.reads) ReleaseIfRead(b, p);
  }

  bool IsInPlace(const Op& op, size_t p) const {
    const std::vector<BufferId>& inputs = op.in_place.inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](BufferId b) {
      const Slot& slot = slots_[b];
      return slot.last_read == p + 1 && !slot.copying_out &&
             !(slot.copied && slot.followed);
    });
  }

  void Define(BufferId b, const Begun& begun, size_t p) {
    Slot& slot = slots_[b];
    if (slot.in_memory)
      return Fail(p, graph_.buffers[b].name + " is still in memory");
    slot.defined = slot.in_memory = true;
    slot.read_ended = slot.copied = false;
    slot.last_read = begun.last_read;
    slot.followed = begun.followed;
    if (!graph_.buffers[b].view) in_use_ += graph_.buffers[b].bytes;
  }

  void OverwriteViews(size_t p, const PlanItem& item) {
    if (item.kind != ItemKind::kRun) return;
    if (views_of_.empty()) CollectViews();
    for (const BufferId b : views_of_[item.id]) {
      if (slots_[b].in_memory && slots_[b].last_read > p + 1) {
        slots_[b].outdated = true;
        // All the views of a variable share its old values.
        if (outdated_views_[item.id]++ == 0) {
          in_use_ += graph_.buffers[b].bytes;
        }
      }
    }
  }

  void CollectViews() {
    views_of_.resize(graph_.ops.size());
    outdated_views_.resize(graph_.ops.size());
    for (size_t b = 0; b < graph_.buffers.size(); ++b) {
      const Buffer& buffer = graph_.buffers[b];
      if (buffer.view && buffer.overwriter != kNone) {
        views_of_[buffer.overwriter].push_back(static_cast<BufferId>(b));
      }
    }
  }

  void ReleaseIfRead(BufferId b, size_t p) {
    Slot& slot = slots_[b];
    if (!slot.in_memory || slot.last_read > p + 1) return;
    if (slot.copying_out) {
      slot.read_ended = true;
      return;
    }
    slot.in_memory = false;
    const Buffer& buffer = graph_.buffers[b];
    if (!buffer.view ||
        (slot.outdated && --outdated_views_[buffer.overwriter] == 0)) {
      in_use_ -= buffer.bytes;
    }
    slot.outdated = false;
  }

  void ExecuteSwapOut(size_t p, BufferId b) {
    Slot& slot = slots_[b];
    if (!graph_.buffers[b].movable)
      return Fail(p, graph_.buffers[b].name + " may not be swapped");
    if (!slot.in_memory || slot.stored)
      return Fail(p, graph_.buffers[b].name + " cannot be swapped out here");
    slot.stored = slot.copying_out = slot.copied = true;
    ReleaseIfRead(b, p);
  }

  void ExecuteSwapWait(size_t p, BufferId b) {
    Slot& slot = slots_[b];
    if (!slot.copying_out)
      return Fail(p, graph_.buffers[b].name + " is not being swapped out");
    slot.copying_out = false;
    if (slot.read_ended && slot.in_memory) {
      slot.in_memory = slot.read_ended = false;
      in_use_ -= graph_.buffers[b].bytes;
    }
  }

  void ExecuteSwapIn(size_t p, BufferId b) {
    Slot& slot = slots_[b];
    if (!slot.stored)
      return Fail(p, graph_.buffers[b].name + " is swapped in but on no tier");
    if (slot.copying_out)
      return Fail(p, graph_.buffers[b].name + " is swapped in before its wait");
    slot.swapped_in = true;
    Define(b, begun_[p][0], p);
    slot.copied = true;
  }

  void CheckEnd() {
    const size_t end = plan_.schedule.size();
    for (size_t i = 0; i < ran_.size(); ++i) {
      if (!ran_[i]) Fail(end, graph_.ops[i].name + " never runs");
    }
    for (size_t b = 0; b < slots_.size(); ++b) {
      const std::string& name = graph_.buffers[b].name;
      if (slots_[b].copying_out) Fail(end, name + " is never waited for");
      if (slots_[b].stored && !slots_[b].swapped_in) {
        Fail(end, name + " is swapped out for nothing");
      }
    }
    if (peak_ != plan_.peak_bytes) {
      Fail(end, "the peak is " + std::to_string(peak_) +
                    " bytes, the plan says " +
                    std::to_string(plan_.peak_bytes));
    }
    if (plan_.feasible && plan_.budget_bytes > 0 &&
        peak_ > plan_.budget_bytes) {
      Fail(end, "the peak of " + std::to_string(peak_) +
                    " bytes passes the budget of " +
                    std::to_string(plan_.budget_bytes));
    }
  }

  const MemoryGraph& graph_;
  const MemoryPlan& plan_;
  std::vector<Slot> slots_;
  std::vector<bool> ran_;
  std::vector<std::vector<BufferId>> views_of_;  // By who overwrites them.
  std::vector<int> outdated_views_;              // Likewise, in memory.
  std::vector<std::vector<Begun>> begun_;        // At each position.
  int64_t in_use_ = 0;
  int64_t peak_ = 0;
  std::string error_;
};

}  // namespace

std::string VerifyPlan(const MemoryGraph& graph, const MemoryPlan& plan) {
  const PhaseTimer timer(Phase::kVerify);
  return Machine(graph, plan).Run();
}

}  // namespace sn_tf
