// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/graph_json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "grappler_pass/planner/plan_json.h"
#include "grappler_pass/planner/planner.h"
#include "tests/cc/random_graph.h"
#include "tests/cc/small_graph.h"

namespace sn_tf {
namespace {

std::string TextOf(const MemoryGraph& graph,
                   const PlannerOptions& options = {}) {
  JsonWriter json;
  WriteJson(graph, options, &json);
  return json.text();
}

std::string Read(const std::string& text, MemoryGraph* graph) {
  JsonValue json;
  EXPECT_EQ(ParseJson(text, &json), "");
  return ReadGraph(json, graph);
}

// What is wrong with the graph of ThreeLayers once the member of the object
// called `name` is `value`.
std::string ErrorOf(const std::string& name, const std::string& member,
                    const std::string& value) {
  std::string text = TextOf(ThreeLayers().Build());
  const std::string key = "\"" + member + "\":";
  const size_t object = text.find("{\"name\":\"" + name + "\"");
  const size_t begin = text.find(key, object) + key.size();
  const size_t end = text[begin] == '[' ? text.find(']', begin) + 1
                                        : text.find_first_of(",}", begin);
  MemoryGraph read;
  return Read(text.replace(begin, end - begin, value), &read);
}

JsonValue Planned(const std::string& text) {
  JsonValue json;
  EXPECT_EQ(ParseJson(text, &json), "");
  return json;
}

TEST(GraphJsonTest, ReadsBackTheSame) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const MemoryGraph graph = RandomTrainingGraph(seed, 6);
    const std::string text = TextOf(graph);
    MemoryGraph read;
    ASSERT_EQ(Read(text, &read), "");
    EXPECT_EQ(TextOf(read), text);
    EXPECT_EQ(read.buffers.back().readers, graph.buffers.back().readers);
  }
}

TEST(GraphJsonTest, TellsOptionsAndRoute) {
  PlannerOptions options;
  options.budget_bytes = 300;
  options.link_bandwidth_bytes_per_s = 50;
  JsonValue json;
  ASSERT_EQ(ParseJson(TextOf(ThreeLayers().Build(7), options), &json), "");
  const JsonValue& told = *json.Find("options");
  EXPECT_EQ(told.Find("budget_bytes")->AsInt(), 300);
  EXPECT_EQ(told.Find("link_bandwidth_bytes_per_s")->AsInt(), 50);
  EXPECT_EQ(*told.Find("policy")->AsString(), "auto");
  EXPECT_EQ(json.Find("resident_bytes")->AsInt(), 7);
  ASSERT_EQ(json.Find("route")->items().size(), 8u);
  EXPECT_EQ(json.Find("route")->items()[0].AsInt(), 0);
}

TEST(GraphJsonTest, RefusesWhatCannotBePlanned) {
  EXPECT_EQ(ErrorOf("f1", "seconds", "1"), "");
  EXPECT_EQ(ErrorOf("f2", "seconds", "-1"),
            "Not a graph: `seconds` of op 2 is missing or wrong. Expected a "
            "number from 0 to 1e9.");
  EXPECT_EQ(ErrorOf("f2", "reads", "[99]"),
            "Not a graph: `reads` of op 2 is missing or wrong. Expected an "
            "array of indices, ascending.");
  EXPECT_EQ(ErrorOf("f1", "after", "[]"),
            "Not a graph that can be planned: op f1 does not come after what "
            "writes in:0, which it reads");
  EXPECT_EQ(ErrorOf("in", "after", "[7]"),
            "Not a graph that can be planned: it has a cycle");
  EXPECT_EQ(ErrorOf("f1", "partner", "1"),
            "Not a graph that can be planned: op f1 is its own partner");
  EXPECT_EQ(ErrorOf("f1", "in_place_inputs", "[0]"),
            "Not a graph that can be planned: op f1: bad in_place");
  EXPECT_EQ(ErrorOf("f1", "writes", "[]"),
            "Not a graph that can be planned: buffer f1:0 is not written once");
  EXPECT_EQ(ErrorOf("f2:0", "overwriter", "1"),
            "Not a graph that can be planned: the variable of f2:0 may be "
            "overwritten before it is read");
  EXPECT_EQ(ErrorOf("f2:0", "bytes", std::to_string((int64_t{1} << 60) - 50)),
            "Not a graph: it has more than 2^60 bytes.");
}

TEST(GraphJsonTest, RefusesOtherJson) {
  MemoryGraph graph;
  for (const char* other :
       {"3", "[]", "{}", R"({"ops":[],"buffers":3,"resident_bytes":0})",
        R"({"ops":[3],"buffers":[],"resident_bytes":0})",
        R"({"ops":[],"buffers":[],"resident_bytes":-1})"}) {
    EXPECT_NE(Read(other, &graph), "") << other;
  }
}

TEST(PlanJsonTest, PlansAsThePlannerDoes) {
  PlannerOptions options;
  options.budget_bytes = 400;
  options.min_buffer_bytes = 1;
  options.tiers = "none";
  const MemoryGraph graph = ThreeLayers().Build();
  const MemoryPlan plan = MakePlan(graph, options);
  const JsonValue told = Planned(PlanGraphText(TextOf(graph), options));
  EXPECT_EQ(*told.Find("error")->AsString(), "");
  EXPECT_EQ(*told.Find("rejected")->AsString(), "");
  EXPECT_EQ(told.Find("feasible")->AsBool(), plan.feasible);
  EXPECT_EQ(told.Find("peak_bytes")->AsInt(), plan.peak_bytes);
  EXPECT_EQ(told.Find("recompute_seconds")->AsDouble(), plan.added.recompute);
  EXPECT_EQ(told.Find("added_seconds")->AsDouble(), plan.added.total());
  EXPECT_GT(plan.added.recompute, 0);
  EXPECT_EQ(told.Find("schedule")->items().size(), plan.schedule.size());
}

TEST(PlanJsonTest, JudgesASchedule) {
  PlannerOptions options;
  options.budget_bytes = 1000;
  options.link_bandwidth_bytes_per_s = 100;
  const std::string graph = TextOf(ThreeLayers().Build());
  const JsonValue swaps = Planned(PlanOfScheduleText(
      graph, options,
      R"([["run",0],["swap_out",0],["run",1],["swap_wait",0],["run",2],
          ["run",3],["run",4],["run",5],["run",6],["swap_in",0],["run",7]])"));
  EXPECT_EQ(*swaps.Find("rejected")->AsString(), "");
  EXPECT_EQ(swaps.Find("feasible")->AsBool(), true);
  EXPECT_EQ(swaps.Find("stall_seconds")->AsDouble(), 1.0);
  const JsonValue wrong =
      Planned(PlanOfScheduleText(graph, options, R"([["run",1],["run",0]])"));
  EXPECT_EQ(*wrong.Find("rejected")->AsString(),
            "position 0: f1 runs before in");
}

TEST(PlanJsonTest, SaysWhatIsWrongWithASchedule) {
  const std::string graph = TextOf(ThreeLayers().Build());
  for (const char* bad :
       {"3", R"([["run"]])", R"([["runs",1]])", R"([["run",8]])",
        R"([["swap_in",-1]])", R"([[1,"run"]])", R"([["run",1,2]])",
        R"([["run",0],["run",0]])"}) {
    const JsonValue told = Planned(PlanOfScheduleText(graph, {}, bad));
    EXPECT_EQ(told.Find("error")->AsString()->rfind("Not a schedule: ", 0), 0u)
        << bad;
  }
}

}  // namespace
}  // namespace sn_tf
