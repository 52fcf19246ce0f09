// SPDX-License-Identifier: Apache-2.0
//
// Sends a graph through Grappler, as the instantiation of a function does, and
// prints as JSON what TensorFlow's passes took and what ours takes after them.
//
//   plan_scaling <graph> <fetch> <share> <options>...
//
// <graph> is a file with a GraphDef, whose nodes are on the CPU. TensorFlow's
// passes run once, with the settings that sn_tf gives them. What they leave is
// planned with each <options>, such as policy=swap,tiers=host, as in a training
// twice: before a step has been measured, and after. No step runs: the observer
// is told that one has begun and ended, so that all that is known of it follows
// from the shapes. The budget, where options have none, is the resident bytes
// and <share> of what the route holds beside them; to learn that, the route
// alone is planned first, and that is not measured.
//
// Our pass is timed from outside, with all the calls that Grappler makes.
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cc/allocator/arena_allocator.h"
#include "cc/core/json.h"
#include "cc/ops/names.h"
#include "cc/ops/observer.h"
#include "grappler_pass/planner/phases.h"
#include "grappler_pass/session.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/grappler/clusters/utils.h"
#include "tensorflow/core/grappler/clusters/virtual_cluster.h"
#include "tensorflow/core/grappler/grappler_item.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer_registry.h"
#include "tensorflow/core/grappler/optimizers/meta_optimizer.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"

namespace sn_tf {
namespace {

using tensorflow::GraphDef;
using tensorflow::RewriterConfig;
using tensorflow::grappler::CustomGraphOptimizerRegistry;
using tensorflow::grappler::GrapplerItem;
using tensorflow::grappler::VirtualCluster;
using Options = std::map<std::string, std::string>;

constexpr char kDevice[] = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr char kFunction[] = "training_step";
// How often Grappler calls each pass.
constexpr int kIterations = 2;

double Now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

// Seconds.
struct Taken {
  double processor = 0;  // Of all threads of the process.
  double wall = 0;
};

class Stopwatch {
 public:
  Taken taken() const {
    return {Now(CLOCK_PROCESS_CPUTIME_ID) - processor_,
            Now(CLOCK_MONOTONIC) - wall_};
  }

 private:
  const double processor_ = Now(CLOCK_PROCESS_CPUTIME_ID);
  const double wall_ = Now(CLOCK_MONOTONIC);
};

void Write(const std::string& what, const Taken& taken, JsonWriter* json) {
  json->Key(what + "_seconds").Double(taken.processor);
  json->Key(what + "_wall_seconds").Double(taken.wall);
}

VirtualCluster MakeCluster() {
  return VirtualCluster({{kDevice, tensorflow::grappler::GetLocalCPUInfo()}});
}

absl::Status MakeItem(GraphDef graph, const std::string& fetch,
                      GrapplerItem* item) {
  item->id = kFunction;
  item->graph = std::move(graph);
  item->fetch = {fetch};
  return item->AddDevice(kDevice);
}

// Leaves in `*item` what TensorFlow's passes make of it.
absl::Status RunTensorFlowsPasses(GrapplerItem* item, Taken* taken) {
  tensorflow::ConfigProto config;
  RewriterConfig* const rewrite =
      config.mutable_graph_options()->mutable_rewrite_options();
  rewrite->set_meta_optimizer_iterations(RewriterConfig::TWO);
  rewrite->set_memory_optimization(RewriterConfig::NO_MEM_OPT);
  VirtualCluster cluster = MakeCluster();
  GraphDef optimized;
  const Stopwatch watch;
  TF_RETURN_IF_ERROR(tensorflow::grappler::RunMetaOptimizer(
      GrapplerItem(*item), config, nullptr, &cluster, &optimized));
  *taken = watch.taken();
  item->graph = std::move(optimized);
  return absl::OkStatus();
}

// Plans for one session, which begins and ends with it.
class Planning {
 public:
  Planning(const GrapplerItem& item, Options options)
      : item_(item), options_(std::move(options)), number_(CreateSession()) {
    options_["session"] = absl::StrCat(number_);
  }
  ~Planning() { DestroySession(number_); }
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;

  // Makes the plan of the session's present generation.
  absl::Status Plan() {
    options_["generation"] = absl::StrCat(FindSession(number_)->Generation());
    tensorflow::RewriterConfig_CustomGraphOptimizer config;
    for (const auto& [name, value] : options_) {
      (*config.mutable_parameter_map())[name].set_s(value);
    }
    const auto pass =
        CustomGraphOptimizerRegistry::CreateByNameOrNull(kPassName);
    VirtualCluster cluster = MakeCluster();
    planned_.Clear();
    TakePhaseSeconds();
    const Stopwatch watch;
    TF_RETURN_IF_ERROR(pass->Init(&config));
    for (int i = 0; i < kIterations; ++i) {
      const absl::Status status = pass->Optimize(&cluster, item_, &planned_);
      if (!status.ok() && !absl::IsAborted(status)) return status;
    }
    taken_ = watch.taken();
    phases_ = TakePhaseSeconds();
    return absl::OkStatus();
  }

  // Tells the plan's observer of a step that has allocated nothing.
  absl::Status PretendStep() {
    std::shared_ptr<StepObserver> observer;
    for (const tensorflow::NodeDef& node : planned_.node()) {
      if (node.op() != kObserveOp) continue;
      observer = FindObserver(node.attr().at(kObserverAttr).i());
    }
    if (observer == nullptr) {
      return absl::InternalError("our pass has left the graph as it was");
    }
    TF_RETURN_IF_ERROR(observer->OnStepBegin(1, {}));
    return observer->OnStepEnd(1);
  }

  PlanReport Report() const { return FindSession(number_)->Reports().at(0); }

  void WriteTimes(JsonWriter* json) const {
    json->BeginObject();
    Write("pass", taken_, json);
    json->Key("phase_seconds").BeginObject();
    for (size_t i = 0; i < phases_.size(); ++i) {
      json->Key(kPhaseNames[i]).Double(phases_[i]);
    }
    json->EndObject().EndObject();
  }

 private:
  const GrapplerItem& item_;
  Options options_;
  const int64_t number_;
  GraphDef planned_;
  Taken taken_;
  PhaseSeconds phases_ = {};
};

Options ParseOptions(const std::string& text, int64_t budget_bytes) {
  Options options;
  for (const auto& option : absl::StrSplit(text, ',')) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(option, absl::MaxSplits('=', 1));
    options.insert(pair);
  }
  options.try_emplace("budget_bytes", absl::StrCat(budget_bytes));
  return options;
}

absl::Status BudgetOf(const GrapplerItem& item, double share, int64_t* bytes) {
  Planning route(item, ParseOptions("policy=liveness", 0));
  TF_RETURN_IF_ERROR(route.Plan());
  const PlanReport report = route.Report();
  const int64_t held = report.stock_peak_bytes - report.resident_bytes;
  *bytes = report.resident_bytes +
           static_cast<int64_t>(share * static_cast<double>(held));
  return absl::OkStatus();
}

absl::Status Measure(const GrapplerItem& item, const std::string& options,
                     int64_t budget_bytes, JsonWriter* json) {
  Planning planning(item, ParseOptions(options, budget_bytes));
  json->BeginObject();
  TF_RETURN_IF_ERROR(planning.Plan());
  json->Key("first");
  planning.WriteTimes(json);
  TF_RETURN_IF_ERROR(planning.PretendStep());
  TF_RETURN_IF_ERROR(planning.Plan());
  json->Key("measured");
  planning.WriteTimes(json);
  const PlanReport report = planning.Report();
  json->Key("feasible").Bool(report.feasible);
  json->Key("swapped_buffers").Int(report.swapped_buffers);
  json->Key("recomputed_ops").Int(report.recomputed_ops);
  json->EndObject();
  return absl::OkStatus();
}

absl::Status Run(const std::string& path, const std::string& fetch,
                 double share, const std::vector<std::string>& plans) {
  if (!InstallCpuArena()) {
    return absl::FailedPreconditionError("TensorFlow has allocated already");
  }
  GraphDef graph;
  TF_RETURN_IF_ERROR(
      tensorflow::ReadBinaryProto(tensorflow::Env::Default(), path, &graph));
  JsonWriter json;
  json.BeginObject();
  json.Key("nodes").Int(graph.node_size());
  GrapplerItem item;
  TF_RETURN_IF_ERROR(MakeItem(std::move(graph), fetch, &item));
  Taken tensorflows;
  TF_RETURN_IF_ERROR(RunTensorFlowsPasses(&item, &tensorflows));
  Write("tensorflow", tensorflows, &json);
  json.Key("planned_nodes").Int(item.graph.node_size());
  int64_t budget_bytes;
  TF_RETURN_IF_ERROR(BudgetOf(item, share, &budget_bytes));
  json.Key("plans").BeginArray();
  for (const std::string& options : plans) {
    TF_RETURN_IF_ERROR(Measure(item, options, budget_bytes, &json));
  }
  json.EndArray().EndObject();
  std::printf("%s\n", json.text().c_str());
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "usage: plan_scaling <graph> <fetch> <share> <options>...\n");
    return 2;
  }
  const absl::Status status =
      Run(argv[1], argv[2], std::atof(argv[3]), {argv + 4, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "plan_scaling: %s\n",
               std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace sn_tf

int main(int argc, char** argv) { return sn_tf::Main(argc, argv); }
