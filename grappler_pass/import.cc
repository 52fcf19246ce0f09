// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/import.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "grappler_pass/aliases.h"
#include "grappler_pass/branches.h"
#include "grappler_pass/collectives.h"
#include "grappler_pass/enclose_flow.h"
#include "grappler_pass/fusible.h"
#include "grappler_pass/moved_state.h"
#include "grappler_pass/op_costs.h"
#include "grappler_pass/op_traits.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

// Smaller buffers are not ordered or followed one by one; all of a step's
// together are a fraction of one activation.
constexpr int64_t kTinyBytes = 1024;

// What the arena rounds sizes up to.
constexpr int64_t kAlignment = 64;

// The part of what loops were measured to hold that they may hold more.
constexpr int64_t kInteriorMargin = 16;

int64_t Rounded(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class Importer {
 public:
  Importer(const GraphDef& graph, const TensorInfos& infos,
           const ImportOptions& options)
      : graph_(graph),
        infos_(infos),
        options_(options),
        nested_(FindNestedFlow(graph)) {}

  absl::StatusOr<ImportedGraph> Run() {
    result_.memory.resident_bytes = options_.resident_bytes;
    result_.unsupported = nested_.unsupported;
    AssignIds();
    const absl::Status status = Connect();
    if (!status.ok()) return status;
    BoundBranches(graph_, infos_, nested_, options_, &result_);
    if (!result_.unsupported.empty()) return std::move(result_);
    CoupleCollectives(graph_, &result_);
    if (!result_.unsupported.empty()) return std::move(result_);
    // Stops short of cycles; the route finds them.
    const std::vector<OpId> order = result_.memory.TopologicalOrder();
    level_ = result_.memory.Levels(order);
    CountPorts();
    for (const OpId op : order) {
      const std::vector<TensorInfo> inputs = InputInfos(op);
      AddOutputs(op, inputs);
      AddReads(op, inputs);
    }
    AddArrivals();
    AddFetches();
    CountMovedState(graph_, &result_);
    EncloseNestedFlow(graph_, nested_, &result_);
    ConnectReaders(&result_.memory);
    FindOverwriters();
    PairFusible(&result_);
    PriceApart(&result_);
    AddInterior();
    return std::move(result_);
  }

 private:
  const NodeDef& Node(OpId op) const {
    return graph_.node(result_.node_index[op]);
  }

  void AssignIds() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      result_.node_index.push_back(i);
    }
    std::sort(result_.node_index.begin(), result_.node_index.end(),
              [this](int a, int b) {
                return graph_.node(a).name() < graph_.node(b).name();
              });
    const size_t count = result_.node_index.size();
    result_.memory.ops.resize(count);
    result_.inputs.resize(count);
    result_.output_buffer.resize(count);
    result_.aliased_input.resize(count);
    result_.placement.resize(count);
    result_.role.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const NodeDef& node = Node(static_cast<OpId>(i));
      Op& op = result_.memory.ops[i];
      op.name = node.name();
      op.type = node.op();
      op.pure = IsPure(node);
      result_.placement[i] = PlacementOf(node, options_.device);
      id_of_[op.name] = static_cast<OpId>(i);
      const auto infos = infos_.find(op.name);
      infos_of_.push_back(infos == infos_.end() ? nullptr : &infos->second);
      result_.role[i] = nested_.role[result_.node_index[i]];
      result_.in_loop.push_back(nested_.in_loop[result_.node_index[i]]);
      if (IsInterior(static_cast<OpId>(i))) {
        result_.placement[i].on_device = false;
      }
    }
  }

  bool IsInterior(OpId op) const {
    return result_.role[op] == FlowRole::kInterior;
  }

  absl::Status Connect() {
    for (size_t i = 0; i < result_.node_index.size(); ++i) {
      Op& op = result_.memory.ops[i];
      for (const std::string& input : Node(static_cast<OpId>(i)).input()) {
        const tensorflow::TensorId tensor = tensorflow::ParseTensorName(input);
        const auto found = id_of_.find(tensor.node());
        if (found == id_of_.end()) {
          return absl::InvalidArgumentError(absl::StrCat(
              "node ", op.name, " has input ", input, ", which is no node"));
        }
        // The next iteration is no part of this one.
        if (Node(found->second).op() != "NextIteration") {
          op.after.push_back(found->second);
        }
        if (tensor.index() >= 0) {
          result_.inputs[i].push_back({found->second, tensor.index()});
        }
      }
      SortUnique(&op.after);
    }
    return absl::OkStatus();
  }

  const std::vector<TensorInfo>& Infos(OpId op) const {
    static const std::vector<TensorInfo> kEmpty;
    return infos_of_[op] == nullptr ? kEmpty : *infos_of_[op];
  }

  std::vector<TensorInfo> InputInfos(OpId op) const {
    std::vector<TensorInfo> inputs;
    for (const TensorRef& input : result_.inputs[op]) {
      const std::vector<TensorInfo>& infos = Infos(input.op);
      inputs.push_back(input.port < static_cast<int>(infos.size())
                           ? infos[input.port]
                           : TensorInfo());
    }
    return inputs;
  }

  // Outputs whose shapes are known, and others that somebody reads.
  void CountPorts() {
    for (size_t i = 0; i < result_.inputs.size(); ++i) {
      ports_.push_back(Infos(static_cast<OpId>(i)).size());
    }
    for (const std::vector<TensorRef>& inputs : result_.inputs) {
      for (const TensorRef& input : inputs) {
        ports_[input.op] =
            std::max(ports_[input.op], static_cast<size_t>(input.port) + 1);
      }
    }
  }

  void AddOutputs(OpId op, const std::vector<TensorInfo>& inputs) {
    const NodeDef& node = Node(op);
    std::vector<BufferId>& buffers = result_.output_buffer[op];
    buffers.assign(ports_[op], kNone);
    std::vector<int>& aliased_input = result_.aliased_input[op];
    aliased_input.assign(buffers.size(), -1);
    const NodePlacement& placement = result_.placement[op];
    if (!placement.on_device) return;
    if (IsResidentSource(node)) {
      CountResidentSource(op);
      return;
    }
    if (result_.role[op] == FlowRole::kEntry) return;
    for (size_t port = 0; port < buffers.size(); ++port) {
      if (!placement.HasOutput(port)) continue;
      const int aliased =
          AliasedInput(node, static_cast<int>(port), inputs, Infos(op));
      if (aliased >= 0 &&
          aliased < static_cast<int>(result_.inputs[op].size())) {
        aliased_input[port] = aliased;
        buffers[port] = result_.BufferOf(result_.inputs[op][aliased]);
      } else {
        buffers[port] = NewBuffer(op, static_cast<int>(port));
      }
    }
  }

  // Variables are in use already; constants will be once the step runs, and a
  // profile has measured them. Of its inputs a step may find one more batch
  // than the last: pipelines fetch ahead, and whether a fed array is copied
  // depends on how its memory happens to be aligned.
  void CountResidentSource(OpId op) {
    const bool varies = IsStepInput(Node(op));
    if (!varies && options_.profile != nullptr) return;
    for (const TensorInfo& info : Infos(op)) {
      const int64_t bytes = Rounded(std::max<int64_t>(info.bytes(), 0));
      result_.memory.resident_bytes += bytes;
      if (varies) result_.spare_bytes += bytes;
    }
  }

  // What other devices send comes as soon as it is made there, and stays for as
  // long as anything here needs it: for the whole step, to be safe.
  void AddArrivals() {
    std::set<std::pair<OpId, int>> seen;
    for (size_t i = 0; i < result_.inputs.size(); ++i) {
      for (size_t k = 0; k < result_.inputs[i].size(); ++k) {
        const TensorRef& input = result_.inputs[i][k];
        if (!result_.placement[i].HasInput(k) ||
            result_.placement[input.op].on_device || IsInterior(input.op) ||
            !seen.insert({input.op, input.port}).second) {
          continue;
        }
        const std::vector<TensorInfo>& infos = Infos(input.op);
        if (input.port >= static_cast<int>(infos.size())) continue;
        const int64_t bytes = infos[input.port].bytes();
        result_.memory.resident_bytes += Rounded(std::max<int64_t>(bytes, 0));
      }
    }
  }

  int64_t OutputBytes(OpId op, int port) const {
    const std::vector<TensorInfo>& infos = Infos(op);
    if (port < static_cast<int>(infos.size())) {
      const int64_t bytes = infos[port].bytes();
      if (bytes >= 0) return bytes;
      if (!tensorflow::DataTypeCanUseMemcpy(infos[port].dtype)) return -1;
    }
    if (options_.profile == nullptr || port >= static_cast<int>(infos.size())) {
      return -1;
    }
    const auto& measured = options_.profile->output_bytes;
    const auto found = measured.find(result_.memory.ops[op].name);
    if (found == measured.end()) return -1;
    return port < static_cast<int>(found->second.size()) ? found->second[port]
                                                         : -1;
  }

  BufferId NewBuffer(OpId op, int port) {
    const int64_t bytes = OutputBytes(op, port);
    if (bytes < 0) {
      const std::vector<TensorInfo>& infos = Infos(op);
      if (port < static_cast<int>(infos.size()) &&
          tensorflow::DataTypeCanUseMemcpy(infos[port].dtype)) {
        ++result_.unknown_outputs;
      }
      return kNone;
    }
    const bool view = IsVariableRead(Node(op));
    if (bytes < kTinyBytes) {
      if (!view) result_.memory.resident_bytes += Rounded(bytes);
      return kNone;
    }
    Buffer buffer;
    buffer.name = absl::StrCat(result_.memory.ops[op].name, ":", port);
    buffer.bytes = Rounded(bytes);
    buffer.producer = op;
    buffer.view = view;
    buffer.movable = !view;
    const auto id = static_cast<BufferId>(result_.memory.buffers.size());
    result_.dtypes.push_back(Infos(op)[port].dtype);
    result_.memory.buffers.push_back(std::move(buffer));
    result_.memory.ops[op].writes.push_back(id);
    return id;
  }

  bool OnlyAliases(OpId op) const {
    const std::vector<int>& aliased = result_.aliased_input[op];
    return !aliased.empty() &&
           std::all_of(aliased.begin(), aliased.end(),
                       [](int input) { return input >= 0; });
  }

  void AddReads(OpId op, const std::vector<TensorInfo>& inputs) {
    if (IsInterior(op)) return;
    Op& reader = result_.memory.ops[op];
    for (const TensorRef& input : result_.inputs[op]) {
      const BufferId buffer = result_.BufferOf(input);
      if (buffer != kNone) reader.reads.push_back(buffer);
    }
    SortUnique(&reader.reads);
    const bool computes = !IsResidentSource(Node(op)) &&
                          result_.placement[op].on_device && !OnlyAliases(op);
    reader.seconds =
        computes ? EstimateSeconds(Node(op), inputs, Infos(op)) : 0;
    if (options_.profile != nullptr) {
      const auto found = options_.profile->workspace_bytes.find(reader.name);
      if (found != options_.profile->workspace_bytes.end() &&
          found->second >= kTinyBytes) {
        reader.workspace_bytes = found->second;
      }
    }
  }

  // What is allocated inside of loops is nobody's buffer. What
  // that was at most, it may be whenever anything else runs, and a bit more:
  // TensorFlow lets iterations overlap. Before it has run, nobody knows.
  void AddInterior() {
    if (options_.profile != nullptr) {
      const int64_t most = options_.profile->interior_bytes;
      result_.memory.resident_bytes += most + most / kInteriorMargin;
    } else if (std::find(nested_.in_loop.begin(), nested_.in_loop.end(),
                         true) != nested_.in_loop.end()) {
      ++result_.unknown_outputs;
    }
  }

  // What is fetched stays where it is until the end.
  void AddFetches() {
    Op fetch;
    fetch.name = "the end of the step";
    fetch.type = "fetch";
    for (const std::string& name : options_.fetches) {
      const auto found =
          id_of_.find(std::string(tensorflow::ParseTensorName(name).node()));
      if (found == id_of_.end()) continue;
      fetch.after.push_back(found->second);
      for (const BufferId b : result_.output_buffer[found->second]) {
        if (b == kNone) continue;
        fetch.reads.push_back(b);
        result_.memory.buffers[b].movable = false;
      }
    }
    SortUnique(&fetch.after);
    SortUnique(&fetch.reads);
    result_.memory.ops.push_back(std::move(fetch));
  }

  // The node that hands out the resource which `op` reads or writes.
  OpId ResourceOf(OpId op) const {
    while (!result_.inputs[op].empty() &&
           (Node(op).op() == "Identity" || IsVariableRead(Node(op)) ||
            IsStateWrite(Node(op)) || IsControlFlow(Node(op)))) {
      op = result_.inputs[op][0].op;
    }
    return op;
  }

  // Automatic control dependencies order the reads and writes of a variable,
  // so that the lower level is the earlier one.
  void FindOverwriters() {
    std::map<OpId, std::vector<OpId>> writers;
    for (size_t i = 0; i < result_.node_index.size(); ++i) {
      const auto op = static_cast<OpId>(i);
      if (IsStateWrite(Node(op))) writers[ResourceOf(op)].push_back(op);
    }
    for (Buffer& buffer : result_.memory.buffers) {
      if (!buffer.view) continue;
      const auto found = writers.find(ResourceOf(buffer.producer));
      if (found == writers.end()) continue;
      for (const OpId writer : found->second) {
        const bool later = level_[writer] > level_[buffer.producer];
        const bool first = buffer.overwriter == kNone ||
                           level_[writer] < level_[buffer.overwriter];
        if (later && first) buffer.overwriter = writer;
      }
      if (buffer.overwriter == kNone) continue;
      std::vector<OpId>& soft =
          result_.memory.ops[buffer.overwriter].soft_after;
      for (const OpId reader : buffer.readers) {
        if (reader != buffer.overwriter) soft.push_back(reader);
      }
    }
    for (Op& op : result_.memory.ops) SortUnique(&op.soft_after);
  }

  const GraphDef& graph_;
  const TensorInfos& infos_;
  const ImportOptions& options_;
  absl::flat_hash_map<std::string, OpId> id_of_;
  // Of each op: the shapes of its outputs, nullptr where none are known, and
  // their number.
  std::vector<const std::vector<TensorInfo>*> infos_of_;
  std::vector<size_t> ports_;
  std::vector<int32_t> level_;
  const NestedFlow nested_;
  ImportedGraph result_;
};

}  // namespace

absl::StatusOr<ImportedGraph> ImportGraph(const GraphDef& graph,
                                          const TensorInfos& infos,
                                          const ImportOptions& options) {
  return Importer(graph, infos, options).Run();
}

}  // namespace sn_tf
