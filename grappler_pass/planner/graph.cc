// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/graph.h"

#include <algorithm>

namespace sn_tf {
namespace {

bool Ascending(const std::vector<int32_t>& ids, size_t limit) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<size_t>(ids[i]) >= limit) return false;
    if (i > 0 && ids[i - 1] >= ids[i]) return false;
  }
  return true;
}

}  // namespace

bool MemoryGraph::MayWriteInPlace(const Op& op) const {
  const auto has = [](const std::vector<BufferId>& ids, BufferId b) {
    return std::binary_search(ids.begin(), ids.end(), b);
  };
  const BufferId output = op.in_place.output;
  if (!has(op.writes, output) || buffers[output].view ||
      !Ascending(op.in_place.inputs, buffers.size())) {
    return false;
  }
  return std::all_of(op.in_place.inputs.begin(), op.in_place.inputs.end(),
                     [&](BufferId b) {
                       return has(op.reads, b) && !buffers[b].view &&
                              buffers[b].bytes == buffers[output].bytes;
                     });
}

int64_t MemoryGraph::LayerBytes(OpId op) const {
  int64_t bytes = ops[op].workspace_bytes;
  for (const BufferId b : ops[op].reads) {
    if (!buffers[b].view) bytes += buffers[b].bytes;
  }
  for (const BufferId b : ops[op].writes) {
    if (!buffers[b].view) bytes += buffers[b].bytes;
  }
  return bytes - InPlaceBytes(op);
}

int64_t MemoryGraph::InPlaceBytes(OpId op) const {
  const InPlace& in_place = ops[op].in_place;
  return in_place.empty() ? 0 : buffers[in_place.output].bytes;
}

OpId MemoryGraph::LargestLayer() const {
  OpId largest = kNone;
  int64_t bytes = -1;
  for (size_t i = 0; i < ops.size(); ++i) {
    const int64_t layer = LayerBytes(static_cast<OpId>(i));
    if (layer > bytes) {
      bytes = layer;
      largest = static_cast<OpId>(i);
    }
  }
  return largest;
}

int64_t MemoryGraph::FloorBytes() const {
  const OpId largest = LargestLayer();
  return resident_bytes + (largest == kNone ? 0 : LayerBytes(largest));
}

double MemoryGraph::StepSeconds() const {
  double seconds = 0;
  for (const Op& op : ops) seconds += op.seconds;
  return seconds;
}

std::vector<std::vector<OpId>> MemoryGraph::Successors() const {
  std::vector<std::vector<OpId>> successors(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    for (const OpId before : ops[i].after) {
      successors[before].push_back(static_cast<OpId>(i));
    }
  }
  return successors;
}

std::vector<OpId> MemoryGraph::TopologicalOrder() const {
  const std::vector<std::vector<OpId>> successors = Successors();
  std::vector<size_t> missing(ops.size());
  std::vector<OpId> order;
  for (size_t i = 0; i < ops.size(); ++i) {
    missing[i] = ops[i].after.size();
    if (missing[i] == 0) order.push_back(static_cast<OpId>(i));
  }
  for (size_t seen = 0; seen < order.size(); ++seen) {
    for (const OpId next : successors[order[seen]]) {
      if (--missing[next] == 0) order.push_back(next);
    }
  }
  return order;
}

std::vector<int32_t> MemoryGraph::Levels(const std::vector<OpId>& order) const {
  std::vector<int32_t> level(ops.size(), 0);
  for (const OpId op : order) {
    for (const OpId before : ops[op].after) {
      level[op] = std::max(level[op], level[before] + 1);
    }
  }
  return level;
}

bool MemoryGraph::TouchesMemory(OpId op) const {
  return ops[op].workspace_bytes > 0 || !ops[op].reads.empty() ||
         !ops[op].writes.empty();
}

std::string MemoryGraph::Validate() const {
  for (size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    const auto bad = [&op](const char* what) {
      return "op " + op.name + ": " + what;
    };
    if (!Ascending(op.after, ops.size())) return bad("bad `after`");
    if (!Ascending(op.soft_after, ops.size())) return bad("bad `soft_after`");
    if (!Ascending(op.reads, buffers.size())) return bad("bad `reads`");
    if (!Ascending(op.writes, buffers.size())) return bad("bad `writes`");
    if (op.workspace_bytes < 0) return bad("negative workspace");
    if (!op.in_place.empty() && !MayWriteInPlace(op))
      return bad("bad in_place");
    if (op.partner != kNone &&
        (op.partner < 0 || static_cast<size_t>(op.partner) >= ops.size() ||
         ops[op.partner].partner != static_cast<OpId>(i))) {
      return bad("partner is not mutual");
    }
    for (const BufferId b : op.writes) {
      if (buffers[b].producer != static_cast<OpId>(i)) {
        return bad("writes a buffer that another op produces");
      }
    }
  }
  for (const Buffer& buffer : buffers) {
    if (buffer.bytes < 0) return "buffer " + buffer.name + ": negative size";
    if (buffer.producer < 0 ||
        static_cast<size_t>(buffer.producer) >= ops.size()) {
      return "buffer " + buffer.name + ": no producer";
    }
    if (!Ascending(buffer.readers, ops.size())) {
      return "buffer " + buffer.name + ": bad readers";
    }
  }
  return "";
}

void SortUnique(std::vector<int32_t>* ids) {
  std::sort(ids->begin(), ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

void ConnectReaders(MemoryGraph* graph) {
  for (Buffer& buffer : graph->buffers) buffer.readers.clear();
  for (size_t i = 0; i < graph->ops.size(); ++i) {
    for (const BufferId b : graph->ops[i].reads) {
      graph->buffers[b].readers.push_back(static_cast<OpId>(i));
    }
  }
}

}  // namespace sn_tf
