// SPDX-License-Identifier: Apache-2.0
#include "tests/cc/random_graph.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace sn_tf {
namespace {

class Builder {
 public:
  explicit Builder(uint32_t seed) : random_(seed) {}

  MemoryGraph Build(int layers) {
    graph_.resident_bytes = Pick(0, 4) * 64;
    const OpId input = AddOp("input", {}, false);
    std::vector<BufferId> activations = {AddBuffer(input, Pick(1, 40))};
    std::vector<BufferId> weights;
    for (int i = 0; i < layers; ++i) Forward(i, &activations, &weights);
    Backward(layers, activations, weights);
    Finish();
    return std::move(graph_);
  }

 private:
  int Pick(int low, int high) {
    return low + static_cast<int>(random_() % (high - low + 1));
  }

  OpId AddOp(const std::string& name, std::vector<BufferId> reads, bool pure) {
    Op op;
    op.name = name;
    op.type = "Test";
    op.reads = std::move(reads);
    op.pure = pure;
    op.seconds = 1e-6 * Pick(1, 50);
    op.workspace_bytes = Pick(0, 3) == 0 ? 64 * Pick(1, 30) : 0;
    for (const BufferId b : op.reads) {
      op.after.push_back(graph_.buffers[b].producer);
    }
    graph_.ops.push_back(std::move(op));
    return static_cast<OpId>(graph_.ops.size()) - 1;
  }

  BufferId AddBuffer(OpId producer, int units) {
    Buffer buffer;
    buffer.name = graph_.ops[producer].name + ":0";
    buffer.bytes = 64 * units;
    buffer.producer = producer;
    buffer.movable = Pick(0, 9) != 0;
    graph_.buffers.push_back(buffer);
    const auto id = static_cast<BufferId>(graph_.buffers.size()) - 1;
    graph_.ops[producer].writes.push_back(id);
    return id;
  }

  // Into one of what it reads first, and of others of that size.
  void WriteInPlace(OpId id) {
    Op& op = graph_.ops[id];
    const BufferId output = op.writes[0];
    graph_.buffers[output].bytes = graph_.buffers[op.reads[0]].bytes;
    op.in_place.output = output;
    for (const BufferId b : op.reads) {
      const Buffer& read = graph_.buffers[b];
      if (!read.view && read.bytes == graph_.buffers[output].bytes) {
        op.in_place.inputs.push_back(b);
      }
    }
    SortUnique(&op.in_place.inputs);
  }

  void Forward(int layer, std::vector<BufferId>* activations,
               std::vector<BufferId>* weights) {
    const std::string index = std::to_string(layer);
    const OpId read = AddOp("read" + index, {}, false);
    const BufferId weight = AddBuffer(read, Pick(1, 8));
    graph_.buffers[weight].view = true;
    graph_.buffers[weight].movable = false;
    weights->push_back(weight);
    std::vector<BufferId> reads = {activations->back(), weight};
    if (Pick(0, 2) == 0) {
      reads.push_back(
          (*activations)[Pick(0, static_cast<int>(activations->size()) - 1)]);
    }
    const OpId op = AddOp("forward" + index, reads, Pick(0, 5) != 0);
    activations->push_back(AddBuffer(op, Pick(1, 40)));
    if (Pick(0, 2) == 0) WriteInPlace(op);
  }

  void Backward(int layers, const std::vector<BufferId>& activations,
                const std::vector<BufferId>& weights) {
    const OpId loss = AddOp("loss", {activations.back()}, true);
    BufferId gradient = AddBuffer(loss, Pick(1, 40));
    for (int i = layers; i-- > 0;) {
      const std::string index = std::to_string(i);
      const OpId dw = AddOp("dw" + index, {activations[i], gradient}, true);
      const BufferId weight_gradient = AddBuffer(dw, Pick(1, 8));
      if (Pick(0, 1) == 0) {
        const OpId db = AddOp("db" + index, {gradient}, true);
        AddBuffer(db, 1);
        graph_.ops[dw].partner = db;
        graph_.ops[db].partner = dw;
      }
      const OpId update = AddOp("update" + index, {weight_gradient}, false);
      graph_.buffers[weights[i]].overwriter = update;
      graph_.ops[update].after.push_back(graph_.buffers[weights[i]].producer);
      const OpId dx =
          AddOp("dx" + index, {activations[i + 1], gradient, weights[i]},
                Pick(0, 3) != 0);
      graph_.ops[update].soft_after.push_back(dx);
      gradient = AddBuffer(dx, Pick(1, 40));
      if (Pick(0, 2) == 0) WriteInPlace(dx);
    }
  }

  void Finish() {
    for (Op& op : graph_.ops) {
      SortUnique(&op.after);
      SortUnique(&op.soft_after);
      SortUnique(&op.reads);
      SortUnique(&op.writes);
    }
    ConnectReaders(&graph_);
  }

  std::mt19937 random_;
  MemoryGraph graph_;
};

}  // namespace

MemoryGraph RandomTrainingGraph(uint32_t seed, int layers) {
  return Builder(seed).Build(layers);
}

}  // namespace sn_tf
