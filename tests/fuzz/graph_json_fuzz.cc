// SPDX-License-Identifier: Apache-2.0
//
// Graphs and schedules from outside the library: whatever text is given, it is
// refused with a message, or planned as if it had come from a graph of ours.
// The text up to the first zero byte is a graph, what follows a schedule of it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cc/core/json.h"
#include "cc/core/json_value.h"
#include "grappler_pass/planner/graph_json.h"
#include "grappler_pass/planner/plan_json.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/graph_decoder.h"

namespace sn_tf {
namespace {

// Enough for all that can go wrong, and fast to plan.
constexpr size_t kMostOps = 64;

std::string TextOf(const MemoryGraph& graph) {
  JsonWriter json;
  WriteJson(graph, {}, &json);
  return json.text();
}

// What holds for every answer.
JsonValue Answer(const std::string& text) {
  JsonValue answer;
  CheckEqual(ParseJson(text, &answer), "", "an answer in JSON");
  Check(answer.Find("error") != nullptr, "an answer with an error or without");
  return answer;
}

void CheckGraph(const std::string& text, std::string_view schedule) {
  MemoryGraph graph;
  JsonValue json;
  PlannerOptions options;
  options.min_buffer_bytes = 1;
  options.budget_bytes = 1000;
  const std::string error = ParseJson(text, &json);
  if (!error.empty() || !ReadGraph(json, &graph).empty()) {
    const JsonValue answer = Answer(PlanGraphText(text, options));
    Check(!answer.Find("error")->AsString()->empty(), "a refusal");
    return;
  }
  if (graph.ops.size() > kMostOps) return;
  const std::string written = TextOf(graph);
  MemoryGraph read;
  CheckEqual(ParseJson(written, &json), "", "a graph in JSON");
  CheckEqual(ReadGraph(json, &read), "", "the graph again");
  CheckEqual(TextOf(read), written, "the same graph again");
  Answer(PlanGraphText(written, options));
  Answer(PlanOfScheduleText(written, options, schedule));
}

}  // namespace
}  // namespace sn_tf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\0');
  const std::string_view schedule =
      end == std::string_view::npos ? "[]" : text.substr(end + 1);
  sn_tf::CheckGraph(std::string(text.substr(0, end)), schedule);
  // Any input stands for a graph of ours too.
  sn_tf::ByteReader bytes(data, size);
  sn_tf::CheckGraph(sn_tf::TextOf(sn_tf::DecodeGraph(&bytes)), schedule);
  return 0;
}
