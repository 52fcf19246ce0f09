// SPDX-License-Identifier: Apache-2.0
//
// What outlives one run of the pass: TensorFlow makes a new optimizer object
// for every graph it instantiates, while profiles and reports belong to the
// training that they came from.
#ifndef SN_TF_GRAPPLER_PASS_SESSION_H_
#define SN_TF_GRAPPLER_PASS_SESSION_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "grappler_pass/planner/graph.h"
#include "grappler_pass/planner/options.h"
#include "grappler_pass/planner/report.h"

namespace sn_tf {

class GraphRecord;

// The graphs that one activation (a callback, a scope) plans. Thread-safe.
class Session {
 public:
  ~Session();

  // The record of the graph called `function` whose nodes hash to
  // `fingerprint`; made if there is none.
  std::shared_ptr<GraphRecord> Record(const std::string& function,
                                      uint64_t fingerprint);

  // Told when a step has run out of memory.
  void OnStepFailed();
  // Whether the step that has just failed can be run again, with the batches
  // that it had.
  bool RepeatStep();

  // The generation of plans to use next. Grows when a measured step allows a
  // better plan.
  // Cheap: asked before every function call.
  int64_t Generation();
  void WantNewGeneration() { ++generation_; }

  // A leading dimension that some step's input had; 0: none seen yet. What one
  // graph of a training was fed is the best guess for the others.
  int64_t seen_batch_size() const { return seen_batch_size_.load(); }
  void SawBatchSize(int64_t size);

  // Unregisters, when the session ends, what its graphs report to.
  void OwnObserver(int64_t number);

  void SetReport(PlanReport report);
  // Of a plan that no longer holds.
  void ForgetReport(const std::string& function);
  // The latest of each function, oldest first.
  std::vector<PlanReport> Reports() const;

  // The graph that the latest plan of a function was made of. Kept where the
  // options have a `report_dir`.
  void SetGraph(const std::string& function, const MemoryGraph& graph,
                const PlannerOptions& options);
  // As planner/graph_json.h writes it; empty: none was kept.
  std::string Graph(const std::string& function) const;

 private:
  std::vector<std::shared_ptr<GraphRecord>> Records() const;

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, uint64_t>, std::shared_ptr<GraphRecord>>
      records_;
  std::vector<PlanReport> reports_;
  std::map<std::string, std::string> graphs_;  // By function.
  std::vector<int64_t> observers_;
  std::atomic<int64_t> generation_{0};
  std::atomic<int64_t> seen_batch_size_{0};
};

// Sessions by number, for the C interface and the pass's options.
int64_t CreateSession();
void DestroySession(int64_t number);
// nullptr where there is none of that number.
std::shared_ptr<Session> FindSession(int64_t number);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_SESSION_H_
