// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/planner/options.h"

#include <algorithm>
#include <charconv>

#include "cc/core/bytes.h"
#include "cc/core/tier_spec.h"

namespace sn_tf {
namespace {

// One row per field. Exactly one of `number` and `text` is set.
struct Row {
  const char* name;
  int64_t PlannerOptions::*number;
  std::string PlannerOptions::*text;
  int64_t minimum;                    // Numbers.
  std::vector<std::string> accepted;  // Texts; empty: any.
  const char* doc;
  // Says what is wrong with a text that is not one of `accepted`.
  std::string (*check)(const std::string& value) = nullptr;
};

// Empty where `value` is a list of tiers that buffers have room in. A size
// that was meant in another unit than bytes gives them none.
std::string CheckTiers(const std::string& value) {
  std::vector<TierSpec> specs;
  std::string error;
  if (!ParseTierSpecs(value, &specs, &error)) return error;
  for (const TierSpec& spec : specs) {
    if (spec.limit_bytes == 0 ||
        spec.limit_bytes >= PlannerOptions().min_buffer_bytes) {
      continue;
    }
    return "A tier of " + FormatBytes(spec.limit_bytes) +
           " has room for no buffer that leaves. Give sizes with their units, "
           "such as '" +
           TierName(spec.kind) + ":2GB'.";
  }
  return "";
}

const std::vector<Row>& Rows() {
  using O = PlannerOptions;
  static const auto* const rows = new std::vector<Row>{
      {"budget_bytes",
       &O::budget_bytes,
       nullptr,
       0,
       {},
       "Most bytes that the device's arena may have in use; 0: no limit."},
      {"policy",
       nullptr,
       &O::policy,
       0,
       {"auto", "liveness", "swap", "vdnn_all", "vdnn_conv", "vdnn_dyn",
        "speed_centric", "memory_centric", "cost_aware", "superneurons"},
       "How to choose what moves; liveness: fix the route, move nothing."},
      {"tiers",
       nullptr,
       &O::tiers,
       0,
       {"auto", "none"},
       "Where buffers may go; none: recomputation only.",
       CheckTiers},
      {"swap_dir",
       nullptr,
       &O::swap_dir,
       0,
       {},
       "Folder of the file tier; empty: that for temporary files."},
      {"cache",
       nullptr,
       &O::cache,
       0,
       {"on", "off"},
       "Whether what may move stays until memory is needed."},
      {"batch_size",
       &O::batch_size,
       nullptr,
       0,
       {},
       "Planned size of an unknown leading dimension; 0: observe it."},
      {"device",
       nullptr,
       &O::device,
       0,
       {},
       "The device whose memory is planned: one that has an arena."},
      {"report_dir",
       nullptr,
       &O::report_dir,
       0,
       {},
       "Folder into which reports are written; empty: none."},
      {"min_buffer_bytes",
       &O::min_buffer_bytes,
       nullptr,
       1,
       {},
       "Buffers smaller than this stay where they are."},
      {"link_bandwidth_bytes_per_s",
       &O::link_bandwidth_bytes_per_s,
       nullptr,
       1,
       {},
       "Bandwidth of the links to the tiers, each direction."},
      {"session",
       &O::session,
       nullptr,
       0,
       {},
       "Number of the session that keeps profiles and reports; 0: none."},
      {"generation",
       &O::generation,
       nullptr,
       0,
       {},
       "Generation of the plan within the session."},
  };
  return *rows;
}

std::string Received(const Row& row, const std::string& value) {
  return std::string("Invalid value for option `") + row.name +
         "`. Received: \"" + value + "\". Expected ";
}

std::string ParseNumber(const Row& row, const std::string& value,
                        PlannerOptions* options) {
  int64_t number = 0;
  const char* const end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < row.minimum) {
    return Received(row, value) + "an integer of at least " +
           std::to_string(row.minimum) + ".";
  }
  options->*row.number = number;
  return "";
}

std::string ParseText(const Row& row, const std::string& value,
                      PlannerOptions* options) {
  const bool known = row.accepted.empty() ||
                     std::find(row.accepted.begin(), row.accepted.end(),
                               value) != row.accepted.end();
  if (!known && row.check != nullptr) {
    const std::string wrong = row.check(value);
    if (!wrong.empty()) {
      return Received(row, value) + "\"auto\", \"none\" or a list. " + wrong;
    }
  } else if (!known) {
    std::string message = Received(row, value) + "one of";
    for (const std::string& name : row.accepted) message += " \"" + name + "\"";
    return message + ".";
  }
  options->*row.text = value;
  return "";
}

}  // namespace

std::string TiersOf(const PlannerOptions& options) {
  return options.tiers == "auto" ? "host" : options.tiers;
}

std::vector<OptionInfo> OptionTable() {
  const PlannerOptions defaults;
  std::vector<OptionInfo> table;
  for (const Row& row : Rows()) {
    const bool is_number = row.number != nullptr;
    table.push_back(
        {row.name, is_number ? "int" : "string",
         is_number ? std::to_string(defaults.*row.number) : defaults.*row.text,
         row.doc});
  }
  return table;
}

std::string ParseOptions(const std::map<std::string, std::string>& values,
                         PlannerOptions* options) {
  for (const auto& [name, value] : values) {
    const auto& rows = Rows();
    const auto row =
        std::find_if(rows.begin(), rows.end(),
                     [&name = name](const Row& r) { return name == r.name; });
    if (row == rows.end()) {
      std::string message = "Unknown option `" + name + "`. Known options:";
      for (const Row& known : rows) message += std::string(" ") + known.name;
      return message + ".";
    }
    const std::string error = row->number != nullptr
                                  ? ParseNumber(*row, value, options)
                                  : ParseText(*row, value, options);
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace sn_tf
