// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/region.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cc/ops/names.h"
#include "grappler_pass/control_flow.h"
#include "grappler_pass/op_traits.h"
#include "grappler_pass/tensor_shapes.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/graph/tensor_id.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;
using tensorflow::grappler::GrapplerItem;

// What is in a context.
struct Content {
  int nodes = 0;         // In it alone.
  int nodes_in_all = 0;  // Also on its branches and in its loops.
  std::string first;     // The least name, to break ties.
  bool is_fed = false;   // Reads a step's inputs from a pipeline, itself.
  bool writes = false;   // Itself, or one of the others.
};

// Whether a node takes a step's inputs from a pipeline. The gradient of a
// conditional has optionals too, which hold what one branch has computed.
bool IsFed(const GraphDef& graph,
           const std::vector<std::vector<NodeInput>>& inputs, int node) {
  const std::string& op = graph.node(node).op();
  if (!IsStepInput(graph.node(node)) || op == "_Arg" || op == "Placeholder") {
    return false;
  }
  if (op != "OptionalGetValue") return true;
  do {
    node = inputs[node].empty() ? -1 : inputs[node][0].node;
  } while (node >= 0 && (IsControlFlow(graph.node(node)) ||
                         graph.node(node).op() == "Identity"));
  return node < 0 || (graph.node(node).op() != "OptionalFromValue" &&
                      graph.node(node).op() != "OptionalNone");
}

std::vector<Content> ContentsOf(const GraphDef& graph,
                                const ControlFlow& flow) {
  const std::vector<std::vector<NodeInput>> inputs = InputsOf(graph);
  std::vector<Content> own(flow.size());
  for (int i = 0; i < graph.node_size(); ++i) {
    const NodeDef& node = graph.node(i);
    Content& content = own[flow.ContextOf(i)];
    if (content.nodes++ == 0 || node.name() < content.first) {
      content.first = node.name();
    }
    content.is_fed |= IsFed(graph, inputs, i);
    content.writes |= IsStateWrite(node);
  }
  std::vector<Content> contents = own;
  for (int outer = 0; outer < flow.size(); ++outer) {
    for (int inner = 0; inner < flow.size(); ++inner) {
      if (!flow.Contains(outer, inner)) continue;
      contents[outer].nodes_in_all += own[inner].nodes;
      contents[outer].writes |= own[inner].writes;
    }
  }
  return contents;
}

// The context of the step; see FindRegion.
int StepContext(const GraphDef& graph, const ControlFlow& flow) {
  const std::vector<Content> contents = ContentsOf(graph, flow);
  const bool fed =
      std::any_of(contents.begin(), contents.end(),
                  [](const Content& content) { return content.is_fed; });
  int best = -1;
  for (int context = 0; context < flow.size(); ++context) {
    const Content& content = contents[context];
    const bool root = context == ControlFlow::kRoot;
    const bool may_be =
        fed ? content.is_fed
            : root || (content.writes && flow.IsLoopBody(context));
    if (!may_be) continue;
    const auto rank = [&contents, fed](int one) {
      return fed || one != ControlFlow::kRoot ? contents[one].nodes_in_all
                                              : contents[one].nodes;
    };
    const int more = best < 0 ? 1 : rank(context) - rank(best);
    if (more > 0 || (more == 0 && content.first < contents[best].first)) {
      best = context;
    }
  }
  return best;
}

class Extractor {
 public:
  Extractor(const GrapplerItem& item, const ControlFlow& flow, int context)
      : item_(item),
        graph_(item.graph),
        inputs_(InputsOf(item.graph)),
        flow_(flow),
        context_(context) {
    for (int i = 0; i < graph_.node_size(); ++i) {
      // What hands values on to the next iteration comes after this one.
      const bool ends = flow.ContextOf(i) == context &&
                        graph_.node(i).op() == "NextIteration";
      inside_.push_back(!ends && flow.Contains(context, flow.ContextOf(i)));
    }
  }

  absl::StatusOr<Region> Run() {
    const absl::StatusOr<TensorInfos> infos = InferShapes(item_, {}, {});
    if (!infos.ok()) return infos.status();
    infos_ = &*infos;
    GraphDef region;
    *region.mutable_versions() = graph_.versions();
    *region.mutable_library() = graph_.library();
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (inside_[i]) {
        TF_RETURN_IF_ERROR(TakeOut(i, region.add_node()));
      } else {
        NoteReads(i);
      }
    }
    for (auto& [name, argument] : arguments_) *region.add_node() = argument;
    result_.item = item_.WithGraph(std::move(region));
    result_.item.fetch.assign(fetch_.begin(), fetch_.end());
    return std::move(result_);
  }

 private:
  absl::Status TakeOut(int i, NodeDef* node) {
    *node = graph_.node(i);
    node->clear_input();
    for (int k = 0; k < graph_.node(i).input_size(); ++k) {
      const std::string& input = graph_.node(i).input(k);
      const NodeInput& source = inputs_[i][k];
      if (inside_[source.node]) {
        node->add_input(input);
      } else if (source.port < 0) {
        result_.waits[node->name()].push_back(graph_.node(source.node).name());
      } else {
        std::string name;
        TF_RETURN_IF_ERROR(Argument(i, k, &name));
        node->add_input(name);
      }
    }
    return absl::OkStatus();
  }

  // What stands for data input `k` of node `i`.
  absl::Status Argument(int i, int k, std::string* name) {
    const NodeDef& reader = graph_.node(i);
    const NodeInput& source = inputs_[i][k];
    const std::string& outside = graph_.node(source.node).name();
    *name = absl::StrCat(kNodePrefix, "region/", outside, "_", source.port);
    if (flow_.ContextOfOutput(source) == context_ &&
        (result_.anchor.empty() || *name < result_.anchor)) {
      result_.anchor = *name;
    }
    NodeDef& argument = arguments_[*name];
    if (!argument.name().empty()) return absl::OkStatus();
    const tensorflow::OpDef* def = nullptr;
    TF_RETURN_IF_ERROR(
        tensorflow::OpRegistry::Global()->LookUpOpDef(reader.op(), &def));
    tensorflow::DataType dtype;
    TF_RETURN_IF_ERROR(tensorflow::InputTypeForNode(reader, *def, k, &dtype));
    argument.set_name(*name);
    argument.set_op("_Arg");
    argument.set_device(reader.device());
    auto& attr = *argument.mutable_attr();
    attr["T"].set_type(dtype);
    attr["index"].set_i(static_cast<int64_t>(result_.arguments.size()));
    SetShape(source, &argument);
    if (dtype == tensorflow::DT_RESOURCE) SetHandle(source.node, &argument);
    result_.arguments[*name] = absl::StrCat(outside, ":", source.port);
    return absl::OkStatus();
  }

  void SetShape(const NodeInput& source, NodeDef* argument) const {
    const auto found = infos_->find(graph_.node(source.node).name());
    if (found == infos_->end() ||
        source.port >= static_cast<int>(found->second.size())) {
      return;
    }
    const TensorInfo& info = found->second[source.port];
    auto* const shape = (*argument->mutable_attr())["_output_shapes"]
                            .mutable_list()
                            ->add_shape();
    shape->set_unknown_rank(!info.known_rank);
    for (const int64_t dim : info.dims) shape->add_dim()->set_size(dim);
  }

  // Says of a handle what it is a handle of, as its origin does.
  void SetHandle(int node, NodeDef* argument) const {
    // Enter, Switch and the others hand on their first input.
    while (IsControlFlow(graph_.node(node)) && !inputs_[node].empty()) {
      node = inputs_[node][0].node;
    }
    const auto& origin = graph_.node(node).attr();
    auto& attr = *argument->mutable_attr();
    if (graph_.node(node).op() == "VarHandleOp") {
      attr["_handle_dtypes"].mutable_list()->add_type(
          origin.at("dtype").type());
      *attr["_handle_shapes"].mutable_list()->add_shape() =
          origin.at("shape").shape();
      return;
    }
    for (const char* const name : {"_handle_dtypes", "_handle_shapes"}) {
      const auto found = origin.find(name);
      if (found != origin.end()) attr[name] = found->second;
    }
  }

  void NoteReads(int i) {
    bool reads = false;
    for (const NodeInput& input : inputs_[i]) {
      if (!inside_[input.node]) continue;
      reads = true;
      if (input.port >= 0) fetch_.insert(graph_.node(input.node).name());
    }
    if (reads) result_.readers.push_back(graph_.node(i).name());
  }

  const GrapplerItem& item_;
  const GraphDef& graph_;
  const std::vector<std::vector<NodeInput>> inputs_;
  const ControlFlow& flow_;
  const int context_;
  std::vector<bool> inside_;  // Per node.
  const TensorInfos* infos_ = nullptr;
  std::map<std::string, NodeDef> arguments_;
  std::set<std::string> fetch_;
  Region result_;
};

// `node` with what its arguments stand for.
NodeDef WithArguments(const Region& region, NodeDef node) {
  for (std::string& input : *node.mutable_input()) {
    if (absl::StartsWith(input, "^")) continue;
    const auto found = region.arguments.find(
        std::string(tensorflow::ParseTensorName(input).node()));
    if (found != region.arguments.end()) input = found->second;
  }
  const auto waits = region.waits.find(node.name());
  if (waits != region.waits.end()) {
    for (const std::string& before : waits->second) {
      node.add_input("^" + before);
    }
  }
  return node;
}

bool ObservesEnd(const NodeDef& node) {
  return node.op() == kObserveOp && node.attr().at(kPhaseAttr).s() == kPhaseEnd;
}

// Runs where the region runs, and reads nothing but what is outside.
NodeDef Anchor(const Region& region) {
  NodeDef anchor;
  anchor.set_name(absl::StrCat(kNodePrefix, "region/anchor"));
  anchor.set_op("Identity");
  anchor.add_input(region.arguments.at(region.anchor));
  for (const NodeDef& node : region.item.graph.node()) {
    if (node.name() != region.anchor) continue;
    anchor.set_device(node.device());
    (*anchor.mutable_attr())["T"] = node.attr().at("T");
  }
  return anchor;
}

}  // namespace

absl::StatusOr<std::optional<Region>> FindRegion(const GrapplerItem& item) {
  const auto& nodes = item.graph.node();
  if (std::none_of(nodes.begin(), nodes.end(), IsControlFlow)) {
    return std::nullopt;
  }
  const ControlFlow flow(item.graph);
  if (!flow.valid()) return std::nullopt;
  const int context = StepContext(item.graph, flow);
  if (context == ControlFlow::kRoot) return std::nullopt;
  absl::StatusOr<Region> region = Extractor(item, flow, context).Run();
  if (!region.ok()) return region.status();
  // What is new in the region would have nothing to run with.
  if (region->anchor.empty()) return std::nullopt;
  return *std::move(region);
}

absl::StatusOr<GraphDef> PutBack(const GraphDef& graph, const Region& region,
                                 const GraphDef& rewritten) {
  GraphDef result = graph;
  absl::flat_hash_map<std::string, NodeDef*> nodes;
  for (NodeDef& node : *result.mutable_node()) nodes[node.name()] = &node;
  const NodeDef anchor = Anchor(region);
  std::vector<NodeDef> added;
  std::vector<std::string> ends;
  for (const NodeDef& node : rewritten.node()) {
    if (region.arguments.count(node.name()) > 0) continue;
    NodeDef whole = WithArguments(region, node);
    if (ObservesEnd(node)) ends.push_back(node.name());
    const auto found = nodes.find(node.name());
    if (found != nodes.end()) {
      *found->second = std::move(whole);
      continue;
    }
    if (whole.input_size() == 0) whole.add_input("^" + anchor.name());
    added.push_back(std::move(whole));
  }
  for (const std::string& reader : region.readers) {
    const auto found = nodes.find(reader);
    if (found == nodes.end()) {
      return absl::InternalError(
          absl::StrCat("the graph has no node ", reader, " any more"));
    }
    for (const std::string& end : ends) found->second->add_input("^" + end);
  }
  *result.add_node() = anchor;
  for (NodeDef& node : added) *result.add_node() = std::move(node);
  return result;
}

}  // namespace sn_tf
