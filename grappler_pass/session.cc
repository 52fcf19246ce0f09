// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/session.h"

#include <algorithm>
#include <utility>

#include "cc/core/json.h"
#include "cc/ops/observer.h"
#include "grappler_pass/graph_record.h"
#include "grappler_pass/planner/graph_json.h"

namespace sn_tf {
namespace {

struct Registry {
  std::mutex mutex;
  int64_t next = 1;
  std::map<int64_t, std::shared_ptr<Session>> sessions;
};

// Never destroyed: steps may still run while the process ends.
Registry& Sessions() {
  static auto* const registry = new Registry;
  return *registry;
}

}  // namespace

Session::~Session() {
  for (const int64_t number : observers_) UnregisterObserver(number);
}

void Session::OwnObserver(int64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  observers_.push_back(number);
}

std::shared_ptr<GraphRecord> Session::Record(const std::string& function,
                                             uint64_t fingerprint) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<GraphRecord>& record = records_[{function, fingerprint}];
  if (record == nullptr) record = std::make_shared<GraphRecord>(function);
  return record;
}

std::vector<std::shared_ptr<GraphRecord>> Session::Records() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::shared_ptr<GraphRecord>> records;
  for (const auto& [key, record] : records_) records.push_back(record);
  return records;
}

int64_t Session::Generation() {
  // Records call back: not under the lock.
  for (const auto& record : Records()) record->ReconsiderInfeasible();
  return generation_.load();
}

void Session::OnStepFailed() {
  for (const auto& record : Records()) record->OnStepFailed();
}

bool Session::RepeatStep() {
  bool repeats = false;
  for (const auto& record : Records()) repeats |= record->RepeatStep();
  return repeats;
}

void Session::SawBatchSize(int64_t size) {
  int64_t seen = seen_batch_size_.load();
  while (size > seen && !seen_batch_size_.compare_exchange_weak(seen, size)) {
  }
}

void Session::SetReport(PlanReport report) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(reports_.begin(), reports_.end(),
                                  [&report](const PlanReport& other) {
                                    return other.function == report.function;
                                  });
  if (found != reports_.end()) {
    *found = std::move(report);
  } else {
    reports_.push_back(std::move(report));
  }
}

void Session::ForgetReport(const std::string& function) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reports_.erase(std::remove_if(reports_.begin(), reports_.end(),
                                [&function](const PlanReport& report) {
                                  return report.function == function;
                                }),
                 reports_.end());
  graphs_.erase(function);
}

std::vector<PlanReport> Session::Reports() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return reports_;
}

void Session::SetGraph(const std::string& function, const MemoryGraph& graph,
                       const PlannerOptions& options) {
  if (options.report_dir.empty()) return;
  JsonWriter json;
  WriteJson(graph, options, &json);
  const std::lock_guard<std::mutex> lock(mutex_);
  graphs_[function] = json.text();
}

std::string Session::Graph(const std::string& function) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = graphs_.find(function);
  return found == graphs_.end() ? std::string() : found->second;
}

int64_t CreateSession() {
  Registry& registry = Sessions();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const int64_t number = registry.next++;
  registry.sessions[number] = std::make_shared<Session>();
  return number;
}

void DestroySession(int64_t number) {
  std::shared_ptr<Session> ended;  // Destroyed without the lock.
  Registry& registry = Sessions();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.sessions.find(number);
  if (found == registry.sessions.end()) return;
  ended = std::move(found->second);
  registry.sessions.erase(found);
}

std::shared_ptr<Session> FindSession(int64_t number) {
  Registry& registry = Sessions();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.sessions.find(number);
  return found == registry.sessions.end() ? nullptr : found->second;
}

}  // namespace sn_tf
