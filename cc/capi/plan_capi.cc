// SPDX-License-Identifier: Apache-2.0
//
// The planning half of the C interface.
#include <cstring>
#include <map>
#include <string>

#include "cc/capi/capi.h"
#include "cc/core/json.h"
#include "cc/pool/pool.h"
#include "grappler_pass/planner/options.h"
#include "grappler_pass/planner/plan_json.h"
#include "grappler_pass/planner/report.h"
#include "grappler_pass/session.h"

namespace {

char* Owned(const std::string& text) { return strdup(text.c_str()); }

// Of ParseOptions.
std::string Parse(const char* const* names, const char* const* values,
                  int count, sn_tf::PlannerOptions* options) {
  std::map<std::string, std::string> given;
  for (int i = 0; i < count; ++i) given[names[i]] = values[i];
  return sn_tf::ParseOptions(given, options);
}

}  // namespace

extern "C" {

char* SnTfOptionSchema() {
  sn_tf::JsonWriter json;
  json.BeginArray();
  for (const sn_tf::OptionInfo& option : sn_tf::OptionTable()) {
    json.BeginObject();
    json.Key("name").String(option.name);
    json.Key("type").String(option.type);
    json.Key("default").String(option.default_value);
    json.Key("doc").String(option.doc);
    json.EndObject();
  }
  json.EndArray();
  return Owned(json.text());
}

char* SnTfCheckOptions(const char* const* names, const char* const* values,
                       int count) {
  sn_tf::PlannerOptions options;
  const std::string error = Parse(names, values, count, &options);
  return error.empty() ? nullptr : Owned(error);
}

char* SnTfPlanGraph(const char* graph, const char* const* names,
                    const char* const* values, int count,
                    const char* schedule) {
  sn_tf::PlannerOptions options;
  const std::string error = Parse(names, values, count, &options);
  if (!error.empty()) return Owned(sn_tf::PlanErrorText(error));
  return Owned(schedule == nullptr
                   ? sn_tf::PlanGraphText(graph, options)
                   : sn_tf::PlanOfScheduleText(graph, options, schedule));
}

int64_t SnTfSessionCreate() { return sn_tf::CreateSession(); }

void SnTfSessionDestroy(int64_t session) {
  sn_tf::DestroySession(session);
  // What the tier keeps warm between steps is of no use after the last.
  sn_tf::ReleaseFreeTierSpace();
}

int64_t SnTfSessionGeneration(int64_t session) {
  const auto found = sn_tf::FindSession(session);
  return found == nullptr ? 0 : found->Generation();
}

char* SnTfSessionReports(int64_t session) {
  sn_tf::JsonWriter json;
  json.BeginArray();
  if (const auto found = sn_tf::FindSession(session)) {
    for (const sn_tf::PlanReport& report : found->Reports()) {
      sn_tf::WriteJson(report, &json);
    }
  }
  json.EndArray();
  return Owned(json.text());
}

char* SnTfSessionGraph(int64_t session, const char* function) {
  const auto found = sn_tf::FindSession(session);
  const std::string graph =
      found == nullptr ? std::string() : found->Graph(function);
  return graph.empty() ? nullptr : Owned(graph);
}

void SnTfSessionStepFailed(int64_t session) {
  if (const auto found = sn_tf::FindSession(session)) found->OnStepFailed();
}

int SnTfSessionRepeatStep(int64_t session) {
  const auto found = sn_tf::FindSession(session);
  return found != nullptr && found->RepeatStep() ? 1 : 0;
}

}  // extern "C"
