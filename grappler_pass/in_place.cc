// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/in_place.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "grappler_pass/op_traits.h"
#include "grappler_pass/planner/liveness.h"

namespace sn_tf {
namespace {

// Buffers that an op reads and may write over: what goes to other devices is
// read there at some later time, and what enters loops in all their iterations.
// Read twice by one op, it is still in use where that writes.
std::vector<BufferId> Candidates(const ImportedGraph& imported, OpId op,
                                 BufferId output) {
  const MemoryGraph& graph = imported.memory;
  const auto is_read_here = [&imported](OpId reader) {
    return static_cast<size_t>(reader) < imported.placement.size() &&
           imported.placement[reader].on_device &&
           imported.role[reader] == FlowRole::kPlain;
  };
  std::vector<BufferId> candidates;
  for (const BufferId b : graph.ops[op].reads) {
    const Buffer& buffer = graph.buffers[b];
    const auto times = std::count_if(
        imported.inputs[op].begin(), imported.inputs[op].end(),
        [&](const TensorRef& input) { return imported.BufferOf(input) == b; });
    if (times == 1 && !buffer.view &&
        buffer.bytes == graph.buffers[output].bytes &&
        std::all_of(buffer.readers.begin(), buffer.readers.end(),
                    is_read_here)) {
      candidates.push_back(b);
    }
  }
  return candidates;
}

// Whether what an op writes can be told from what others do. One that a later
// pass merges with another allocates under one's name.
bool StandsAlone(const ImportedGraph& imported, OpId op) {
  return static_cast<size_t>(op) < imported.inputs.size() &&
         imported.role[op] == FlowRole::kPlain &&
         imported.memory.ops[op].partner == kNone &&
         imported.memory.ops[op].writes.size() == 1 &&
         !imported.memory.buffers[imported.memory.ops[op].writes[0]].view;
}

// What the ops of a type have done where they could write in place.
struct Habit {
  bool in_place = false;
  bool apart = false;
};

class Finder {
 public:
  Finder(const StepProfile& profile, const Schedule& schedule,
         ImportedGraph* imported)
      : profile_(profile),
        schedule_(schedule),
        imported_(*imported),
        liveness_(AnalyzeLiveness(imported->memory, schedule)) {}

  void Run() {
    std::vector<OpId> untold;
    for (size_t p = 0; p < schedule_.size(); ++p) {
      const OpId id = schedule_[p].id;
      if (schedule_[p].kind != ItemKind::kRun || !StandsAlone(imported_, id)) {
        continue;
      }
      Op& op = imported_.memory.ops[id];
      const BufferId output = op.writes[0];
      std::vector<BufferId> free = FreeFor(output, static_cast<Position>(p));
      if (free.empty()) {
        untold.push_back(id);
        continue;
      }
      const bool apart = IsAllocated(op, output);
      Habit& habit = habit_of_[op.type];
      (apart ? habit.apart : habit.in_place) = true;
      if (apart) free.clear();
      op.in_place = {output, std::move(free)};
    }
    for (const OpId id : untold) {
      Op& op = imported_.memory.ops[id];
      const Habit habit = habit_of_[op.type];
      if (!habit.in_place || habit.apart) op.in_place = {};
    }
  }

 private:
  // Candidates for which the op at `at` had no need to spare.
  std::vector<BufferId> FreeFor(BufferId output, Position at) const {
    std::vector<BufferId> free =
        Candidates(imported_, schedule_[at].id, output);
    free.erase(std::remove_if(free.begin(), free.end(),
                              [&](BufferId b) {
                                return !EndsAt(schedule_, liveness_,
                                               liveness_.LastBefore(b, at), at);
                              }),
               free.end());
    return free;
  }

  // Whether the op allocated an output of that size, or what may have become
  // one. Where sizes are scaled, which makes them inexact: whether anything.
  bool IsAllocated(const Op& op, BufferId output) const {
    const int64_t bytes =
        profile_.scaled ? 0 : imported_.memory.buffers[output].bytes;
    const auto workspace = profile_.workspace_bytes.find(op.name);
    if (workspace != profile_.workspace_bytes.end() &&
        workspace->second >= bytes) {
      return true;
    }
    const auto outputs = profile_.output_bytes.find(op.name);
    if (outputs == profile_.output_bytes.end()) return false;
    return profile_.scaled ||
           std::find(outputs->second.begin(), outputs->second.end(), bytes) !=
               outputs->second.end();
  }

  const StepProfile& profile_;
  const Schedule& schedule_;
  ImportedGraph& imported_;
  const Liveness liveness_;
  std::map<std::string, Habit> habit_of_;  // Of each type.
};

}  // namespace

void AssumeInPlace(ImportedGraph* imported) {
  MemoryGraph& graph = imported->memory;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const auto id = static_cast<OpId>(i);
    Op& op = graph.ops[i];
    if (!ReusesInput(op.type) || !StandsAlone(*imported, id)) continue;
    const std::vector<BufferId> candidates =
        Candidates(*imported, id, op.writes[0]);
    if (candidates.empty()) continue;
    // The one most likely to be of no use to others any more.
    const BufferId chosen = *std::min_element(
        candidates.begin(), candidates.end(), [&graph](BufferId a, BufferId b) {
          return graph.buffers[a].readers.size() <
                 graph.buffers[b].readers.size();
        });
    op.in_place = {op.writes[0], {chosen}};
  }
}

void FindInPlace(const StepProfile& profile, const Schedule& schedule,
                 ImportedGraph* imported) {
  Finder(profile, schedule, imported).Run();
}

}  // namespace sn_tf
