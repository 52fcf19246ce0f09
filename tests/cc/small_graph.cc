// SPDX-License-Identifier: Apache-2.0
#include "tests/cc/small_graph.h"

#include <algorithm>

namespace sn_tf {

OpId SmallGraph::Add(const std::string& name,
                     const std::vector<std::string>& reads,
                     const Traits& traits) {
  Op op;
  op.name = name;
  op.type = "Test";
  op.pure = traits.pure;
  op.seconds = traits.seconds;
  op.workspace_bytes = traits.workspace_bytes;
  for (const std::string& read : reads) {
    op.after.push_back(id(read));
    op.reads.push_back(buffer_id(read));
  }
  std::sort(op.after.begin(), op.after.end());
  std::sort(op.reads.begin(), op.reads.end());
  const auto id = static_cast<OpId>(graph_.ops.size());
  if (traits.bytes > 0) {
    Buffer buffer;
    buffer.name = name + ":0";
    buffer.bytes = traits.bytes;
    buffer.producer = id;
    buffer.movable = true;
    op.writes.push_back(static_cast<BufferId>(graph_.buffers.size()));
    graph_.buffers.push_back(buffer);
  }
  graph_.ops.push_back(op);
  ids_[name] = id;
  return id;
}

void SmallGraph::WriteInPlace(const std::string& op_name,
                              const std::vector<std::string>& reads) {
  InPlace& in_place = op(op_name).in_place;
  in_place.output = buffer_id(op_name);
  for (const std::string& read : reads) {
    in_place.inputs.push_back(buffer_id(read));
  }
  SortUnique(&in_place.inputs);
}

void SmallGraph::After(const std::string& op_name, const std::string& before) {
  std::vector<OpId>& after = op(op_name).after;
  after.insert(std::lower_bound(after.begin(), after.end(), id(before)),
               id(before));
}

MemoryGraph SmallGraph::Build(int64_t resident_bytes) {
  graph_.resident_bytes = resident_bytes;
  ConnectReaders(&graph_);
  return graph_;
}

SmallGraph ThreeLayers() {
  SmallGraph graph;
  graph.Add("in", {}, {100, false, 1, 0});
  graph.Add("f1", {"in"}, {100, true, 1, 0});
  graph.Add("f2", {"f1"}, {100, true, 1, 0});
  graph.Add("f3", {"f2"}, {100, true, 1, 0});
  graph.Add("loss", {"f3"}, {100, true, 1, 0});
  graph.Add("b3", {"f2", "loss"}, {100, true, 1, 0});
  graph.Add("b2", {"f1", "b3"}, {100, true, 1, 0});
  graph.Add("b1", {"in", "b2"}, {100, true, 1, 0});
  return graph;
}

MemoryGraph ResidualNetwork(int blocks) {
  SmallGraph small;
  const SmallGraph::Traits slow{1000, true, 1, 0};
  const SmallGraph::Traits fast{1000, true, 0.1, 0};
  small.Add("in", {}, {1000, false, 0, 0});
  std::string last = "in";
  const auto name = [](const char* op, int block) {
    return op + std::to_string(block);
  };
  for (int i = 0; i < blocks; ++i) {
    small.Add(name("conv", i), {last}, slow);
    small.Add(name("norm", i), {name("conv", i)}, fast);
    small.Add(name("act", i), {name("norm", i)}, fast);
    small.Add(name("sum", i), {last, name("act", i)}, fast);
    last = name("sum", i);
  }
  small.Add("loss", {last}, fast);
  std::string gradient = "loss";
  for (int i = blocks; i-- > 0;) {
    const std::string in = i == 0 ? "in" : name("sum", i - 1);
    small.Add(name("b_act", i), {gradient, name("act", i)}, fast);
    small.Add(name("b_norm", i), {name("b_act", i), name("conv", i)}, fast);
    small.Add(name("b_filter", i), {name("b_norm", i), in}, {0, false, 1, 0});
    small.Add(name("b_conv", i), {name("b_norm", i)}, slow);
    small.Add(name("b_sum", i), {name("b_conv", i), gradient}, fast);
    gradient = name("b_sum", i);
  }
  return small.Build();
}

}  // namespace sn_tf
