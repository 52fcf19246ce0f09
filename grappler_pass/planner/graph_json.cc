// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/graph_json.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "grappler_pass/planner/route.h"

namespace sn_tf {
namespace {

// All bytes of a graph together, so that no sum of them overflows.
constexpr int64_t kMostBytes = int64_t{1} << 60;
// Of one op.
constexpr double kMostSeconds = 1e9;

void WriteIds(const char* key, const std::vector<int32_t>& ids,
              JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const int32_t id : ids) json->Int(id);
  json->EndArray();
}

void WriteOp(const Op& op, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(op.name);
  json->Key("type").String(op.type);
  WriteIds("after", op.after, json);
  WriteIds("soft_after", op.soft_after, json);
  WriteIds("reads", op.reads, json);
  WriteIds("writes", op.writes, json);
  json->Key("workspace_bytes").Int(op.workspace_bytes);
  json->Key("in_place_output").Int(op.in_place.output);
  WriteIds("in_place_inputs", op.in_place.inputs, json);
  json->Key("seconds").Double(op.seconds);
  json->Key("pure").Bool(op.pure);
  json->Key("partner").Int(op.partner);
  json->EndObject();
}

void WriteBuffer(const Buffer& buffer, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(buffer.name);
  json->Key("bytes").Int(buffer.bytes);
  json->Key("producer").Int(buffer.producer);
  json->Key("movable").Bool(buffer.movable);
  json->Key("view").Bool(buffer.view);
  json->Key("apart_seconds").Double(buffer.apart_seconds);
  json->Key("overwriter").Int(buffer.overwriter);
  json->EndObject();
}

// The members of one object, by name. Notes the first that is missing or of
// another kind.
class Members {
 public:
  // `where` names the object in messages.
  Members(const JsonValue& object, std::string where, std::string* error)
      : object_(object), where_(std::move(where)), error_(error) {}

  std::string Text(const char* key) {
    const JsonValue* const value = object_.Find(key);
    const std::string* text = value == nullptr ? nullptr : value->AsString();
    if (text == nullptr) Expected(key, "a text");
    return text == nullptr ? std::string() : *text;
  }

  bool Flag(const char* key) {
    const JsonValue* const value = object_.Find(key);
    const auto flag = value == nullptr ? std::nullopt : value->AsBool();
    if (!flag.has_value()) Expected(key, "true or false");
    return flag.value_or(false);
  }

  double Seconds(const char* key) {
    const JsonValue* const value = object_.Find(key);
    const auto seconds = value == nullptr ? std::nullopt : value->AsDouble();
    if (!seconds.has_value() || !(*seconds >= 0 && *seconds <= kMostSeconds)) {
      Expected(key, "a number from 0 to 1e9");
      return 0;
    }
    return *seconds;
  }

  int64_t Bytes(const char* key) {
    return Whole(key, 0, kMostBytes, "a size in bytes, at most 2^60");
  }

  // Of `count` things, or kNone.
  int32_t IdOrNone(const char* key, size_t count) {
    return static_cast<int32_t>(Whole(key, kNone,
                                      static_cast<int64_t>(count) - 1,
                                      "the index of one, or -1"));
  }

  std::vector<int32_t> Ids(const char* key, size_t count) {
    const JsonValue* const value = object_.Find(key);
    std::vector<int32_t> ids;
    bool good = value != nullptr && value->is_array();
    if (good) {
      for (const JsonValue& item : value->items()) {
        const int64_t id = item.AsInt().value_or(kNone);
        good = good && id >= 0 && id < static_cast<int64_t>(count) &&
               (ids.empty() || id > ids.back());
        if (good) ids.push_back(static_cast<int32_t>(id));
      }
    }
    if (!good) Expected(key, "an array of indices, ascending");
    return ids;
  }

 private:
  int64_t Whole(const char* key, int64_t least, int64_t most,
                const char* what) {
    const JsonValue* const value = object_.Find(key);
    const auto number = value == nullptr ? std::nullopt : value->AsInt();
    if (!number.has_value() || *number < least || *number > most) {
      Expected(key, what);
      return least;
    }
    return *number;
  }

  void Expected(const char* key, const char* what) {
    if (!error_->empty()) return;
    *error_ = "Not a graph: `" + std::string(key) + "` of " + where_ +
              " is missing or wrong. Expected " + what + ".";
  }

  const JsonValue& object_;
  const std::string where_;
  std::string* const error_;
};

Op ReadOp(const JsonValue& json, size_t index, size_t ops, size_t buffers,
          std::string* error) {
  Members members(json, "op " + std::to_string(index), error);
  Op op;
  op.name = members.Text("name");
  op.type = members.Text("type");
  op.after = members.Ids("after", ops);
  op.soft_after = members.Ids("soft_after", ops);
  op.reads = members.Ids("reads", buffers);
  op.writes = members.Ids("writes", buffers);
  op.workspace_bytes = members.Bytes("workspace_bytes");
  op.in_place.output = members.IdOrNone("in_place_output", buffers);
  op.in_place.inputs = members.Ids("in_place_inputs", buffers);
  op.seconds = members.Seconds("seconds");
  op.pure = members.Flag("pure");
  op.partner = members.IdOrNone("partner", ops);
  return op;
}

Buffer ReadBuffer(const JsonValue& json, size_t index, size_t ops,
                  std::string* error) {
  Members members(json, "buffer " + std::to_string(index), error);
  Buffer buffer;
  buffer.name = members.Text("name");
  buffer.bytes = members.Bytes("bytes");
  buffer.producer = members.IdOrNone("producer", ops);
  buffer.movable = members.Flag("movable");
  buffer.view = members.Flag("view");
  buffer.apart_seconds = members.Seconds("apart_seconds");
  buffer.overwriter = members.IdOrNone("overwriter", ops);
  return buffer;
}

bool SumIsSmall(const MemoryGraph& graph) {
  int64_t left = kMostBytes - graph.resident_bytes;
  for (const Op& op : graph.ops) {
    if (op.workspace_bytes > left) return false;
    left -= op.workspace_bytes;
  }
  for (const Buffer& buffer : graph.buffers) {
    if (buffer.bytes > left) return false;
    left -= buffer.bytes;
  }
  return true;
}

// What Validate leaves to those that make graphs; empty, or what is wrong.
std::string CheckOwners(const MemoryGraph& graph) {
  std::vector<int> written(graph.buffers.size(), 0);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (graph.ops[i].partner == static_cast<OpId>(i)) {
      return "op " + graph.ops[i].name + " is its own partner";
    }
    for (const BufferId b : graph.ops[i].writes) ++written[b];
  }
  for (size_t b = 0; b < graph.buffers.size(); ++b) {
    if (written[b] != 1) {
      return "buffer " + graph.buffers[b].name + " is not written once";
    }
  }
  return "";
}

std::string CheckOrder(const MemoryGraph& graph) {
  const Route route = BuildRoute(graph);
  if (route.size() != graph.ops.size()) return "it has a cycle";
  std::vector<size_t> position(graph.ops.size());
  for (size_t p = 0; p < route.size(); ++p) position[route[p]] = p;
  const auto runs_before = [&position](OpId op, const Buffer& buffer) {
    return position[op] < position[buffer.producer] || op == buffer.producer;
  };
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (const BufferId b : graph.ops[i].reads) {
      if (runs_before(static_cast<OpId>(i), graph.buffers[b])) {
        return "op " + graph.ops[i].name + " does not come after what writes " +
               graph.buffers[b].name + ", which it reads";
      }
    }
  }
  for (const Buffer& buffer : graph.buffers) {
    if (buffer.overwriter != kNone && runs_before(buffer.overwriter, buffer)) {
      return "the variable of " + buffer.name +
             " may be overwritten before it is read";
    }
  }
  return "";
}

}  // namespace

void WriteJson(const MemoryGraph& graph, const PlannerOptions& options,
               JsonWriter* json) {
  json->BeginObject();
  json->Key("options").BeginObject();
  json->Key("budget_bytes").Int(options.budget_bytes);
  json->Key("policy").String(options.policy);
  json->Key("tiers").String(options.tiers);
  json->Key("min_buffer_bytes").Int(options.min_buffer_bytes);
  json->Key("link_bandwidth_bytes_per_s")
      .Int(options.link_bandwidth_bytes_per_s);
  json->EndObject();
  json->Key("resident_bytes").Int(graph.resident_bytes);
  WriteIds("route", BuildRoute(graph), json);
  json->Key("ops").BeginArray();
  for (const Op& op : graph.ops) WriteOp(op, json);
  json->EndArray();
  json->Key("buffers").BeginArray();
  for (const Buffer& buffer : graph.buffers) WriteBuffer(buffer, json);
  json->EndArray().EndObject();
}

std::string ReadGraph(const JsonValue& json, MemoryGraph* graph) {
  *graph = MemoryGraph();
  const JsonValue* const ops = json.Find("ops");
  const JsonValue* const buffers = json.Find("buffers");
  if (ops == nullptr || !ops->is_array() || buffers == nullptr ||
      !buffers->is_array()) {
    return "Not a graph: expected an object with the arrays `ops` and "
           "`buffers`.";
  }
  std::string error;
  graph->resident_bytes =
      Members(json, "the graph", &error).Bytes("resident_bytes");
  const size_t op_count = ops->items().size();
  const size_t buffer_count = buffers->items().size();
  for (const JsonValue& item : ops->items()) {
    graph->ops.push_back(
        ReadOp(item, graph->ops.size(), op_count, buffer_count, &error));
  }
  for (const JsonValue& item : buffers->items()) {
    graph->buffers.push_back(
        ReadBuffer(item, graph->buffers.size(), op_count, &error));
  }
  if (!error.empty()) return error;
  if (!SumIsSmall(*graph)) return "Not a graph: it has more than 2^60 bytes.";
  ConnectReaders(graph);
  error = graph->Validate();
  if (error.empty()) error = CheckOwners(*graph);
  if (error.empty()) error = CheckOrder(*graph);
  return error.empty() ? error : "Not a graph that can be planned: " + error;
}

}  // namespace sn_tf
