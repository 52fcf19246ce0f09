// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/graph_decoder.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sn_tf {
namespace {

constexpr size_t kMostOps = 40;
constexpr int64_t kUnitBytes = 64;

// Ops are added inputs first and numbered anew at the end.
class Decoder {
 public:
  explicit Decoder(ByteReader* bytes) : bytes_(bytes) {}

  MemoryGraph Run() {
    unit_ = kUnitBytes << bytes_->Below(20);
    graph_.resident_bytes = bytes_->Byte() * unit_;
    const size_t numbering = bytes_->Byte();
    while (!bytes_->empty() && graph_.ops.size() < kMostOps) AddAny();
    AddReadersOfViews();
    Renumber(numbering);
    for (Op& op : graph_.ops) {
      SortUnique(&op.after);
      SortUnique(&op.soft_after);
      SortUnique(&op.reads);
      SortUnique(&op.writes);
    }
    ConnectReaders(&graph_);
    return std::move(graph_);
  }

 private:
  // A variable until its next update: the views of it are alike.
  struct Variable {
    int64_t bytes = 0;
    std::vector<BufferId> views;
  };

  void AddAny() {
    const auto id = static_cast<OpId>(graph_.ops.size());
    const uint8_t traits = bytes_->Byte();
    Op op;
    op.name = "op" + std::to_string(id);
    op.type = id % 3 == 0 ? "Conv2D" : "Test";
    op.seconds = 1e-4 * bytes_->Byte();
    graph_.ops.push_back(op);
    switch (traits % 8) {
      case 0:
        ReadVariable(id);
        break;
      case 1:
        UpdateVariable(id);
        break;
      default:
        Compute(id, traits);
    }
    if ((traits & 0x80) != 0) Pair(id);
  }

  void ReadVariable(OpId id) {
    const size_t choice = bytes_->Byte();
    if (choice >= variables_.size()) {
      variables_.push_back({bytes_->Byte() * unit_, {}});
    }
    Variable& variable = variables_[std::min(choice, variables_.size() - 1)];
    const BufferId view = Write(id, variable.bytes);
    graph_.buffers[view].view = true;
    graph_.buffers[view].movable = false;
    variable.views.push_back(view);
  }

  // Reads, and overwrites a variable after all its views were handed out.
  void UpdateVariable(OpId id) {
    Read(id);
    if (variables_.empty()) return;
    const size_t choice = bytes_->Below(variables_.size());
    for (const BufferId view : variables_[choice].views) {
      graph_.buffers[view].overwriter = id;
      graph_.ops[id].after.push_back(graph_.buffers[view].producer);
    }
    variables_.erase(variables_.begin() + static_cast<ptrdiff_t>(choice));
  }

  void Compute(OpId id, uint8_t traits) {
    for (size_t reads = bytes_->Below(4); reads > 0; --reads) Read(id);
    for (size_t writes = traits / 8 % 4; writes > 0; --writes) {
      const uint8_t size = bytes_->Byte();
      const BufferId written = Write(id, size / 8 * unit_);
      graph_.buffers[written].movable = size % 8 != 0;
      if (size % 8 == 1) WriteInPlace(id, written);
    }
    graph_.ops[id].pure = (traits & 0x20) != 0;
    if ((traits & 0x40) == 0) return;
    graph_.ops[id].workspace_bytes = bytes_->Byte() * unit_;
    ControlEdge(id);
  }

  // Of the size of the first that it reads, for which all of that size do.
  void WriteInPlace(OpId id, BufferId written) {
    Op& op = graph_.ops[id];
    op.in_place = {};
    for (const BufferId b : op.reads) {
      const Buffer& read = graph_.buffers[b];
      if (read.view) continue;
      if (op.in_place.empty()) graph_.buffers[written].bytes = read.bytes;
      if (read.bytes == graph_.buffers[written].bytes) {
        op.in_place.output = written;
        op.in_place.inputs.push_back(b);
      }
    }
    SortUnique(&op.in_place.inputs);
  }

  // A buffer written so far, the nearer the smaller its number.
  void Read(OpId id) {
    if (graph_.buffers.empty()) return;
    const auto buffer = static_cast<BufferId>(
        graph_.buffers.size() - 1 - bytes_->Below(graph_.buffers.size()));
    const OpId producer = graph_.buffers[buffer].producer;
    if (producer == id) return;
    graph_.ops[id].reads.push_back(buffer);
    graph_.ops[id].after.push_back(producer);
  }

  BufferId Write(OpId id, int64_t size) {
    Buffer buffer;
    buffer.name = graph_.ops[id].name + ":" +
                  std::to_string(graph_.ops[id].writes.size());
    buffer.bytes = size;
    buffer.producer = id;
    graph_.buffers.push_back(buffer);
    const auto written = static_cast<BufferId>(graph_.buffers.size() - 1);
    graph_.ops[id].writes.push_back(written);
    return written;
  }

  // Most often none, seldom one that makes a cycle.
  void ControlEdge(OpId id) {
    const uint8_t other = bytes_->Byte();
    if (other == 255 && id > 0) {
      graph_.ops[0].after.push_back(id);
    } else if (other < id) {
      graph_.ops[id].after.push_back(other);
    }
  }

  // With an op before it that has no partner yet.
  void Pair(OpId id) {
    if (id == 0) return;
    const auto other =
        static_cast<OpId>(id - 1 - static_cast<OpId>(bytes_->Below(id)));
    if (graph_.ops[other].partner != kNone) return;
    graph_.ops[id].partner = other;
    graph_.ops[other].partner = id;
  }

  void AddReadersOfViews() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const auto reader = static_cast<OpId>(i);
      for (const BufferId b : graph_.ops[i].reads) {
        const OpId overwriter = graph_.buffers[b].overwriter;
        if (overwriter == kNone || overwriter == reader) continue;
        graph_.ops[overwriter].soft_after.push_back(reader);
      }
    }
  }

  // Ids say nothing of the order; `numbering` 0 keeps it all the same.
  void Renumber(size_t numbering) {
    std::vector<OpId> id_of(graph_.ops.size());
    std::iota(id_of.begin(), id_of.end(), 0);
    for (size_t i = 0; i < id_of.size() && numbering != 0; ++i) {
      std::swap(id_of[i], id_of[(i * numbering + numbering) % id_of.size()]);
    }
    const auto rename = [&id_of](OpId* id) {
      if (*id != kNone) *id = id_of[*id];
    };
    std::vector<Op> ops(graph_.ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      Op& op = ops[id_of[i]];
      op = std::move(graph_.ops[i]);
      for (OpId& before : op.after) rename(&before);
      for (OpId& before : op.soft_after) rename(&before);
      rename(&op.partner);
    }
    graph_.ops = std::move(ops);
    for (Buffer& buffer : graph_.buffers) {
      rename(&buffer.producer);
      rename(&buffer.overwriter);
    }
  }

  ByteReader* const bytes_;
  MemoryGraph graph_;
  int64_t unit_ = kUnitBytes;
  std::vector<Variable> variables_;
};

}  // namespace

MemoryGraph DecodeGraph(ByteReader* bytes) { return Decoder(bytes).Run(); }

}  // namespace sn_tf
