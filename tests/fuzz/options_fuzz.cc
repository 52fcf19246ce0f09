// SPDX-License-Identifier: Apache-2.0
//
// Whatever text reaches the parsers: they take it or say why not, and what they
// took reads back the same. Lines of "name=value" are options of the pass, all
// of them together; every line is also given to each parser of a single text.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cc/core/bytes.h"
#include "cc/core/tier_spec.h"
#include "cc/pool/link_model.h"
#include "grappler_pass/planner/options.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/check.h"

namespace sn_tf {
namespace {

using Texts = std::map<std::string, std::string>;

// What ParseOptions would read these options from.
Texts TextOf(const PlannerOptions& options) {
  return {
      {"budget_bytes", std::to_string(options.budget_bytes)},
      {"policy", options.policy},
      {"tiers", options.tiers},
      {"swap_dir", options.swap_dir},
      {"cache", options.cache},
      {"batch_size", std::to_string(options.batch_size)},
      {"device", options.device},
      {"report_dir", options.report_dir},
      {"min_buffer_bytes", std::to_string(options.min_buffer_bytes)},
      {"link_bandwidth_bytes_per_s",
       std::to_string(options.link_bandwidth_bytes_per_s)},
      {"session", std::to_string(options.session)},
      {"generation", std::to_string(options.generation)},
  };
}

std::map<std::string, std::string> TypesOfOptions() {
  std::map<std::string, std::string> types;
  for (const OptionInfo& option : OptionTable()) {
    types[option.name] = option.type;
  }
  return types;
}

void CheckRefusal(const std::string& message, const std::string& name,
                  const std::string& value) {
  const bool known = TypesOfOptions().count(name) > 0;
  const std::string expected =
      known ? "Invalid value for option `" + name + "`. Received: \"" + value +
                  "\". Expected "
            : "Unknown option `" + name + "`. Known options: ";
  CheckEqual(message.substr(0, expected.size()), expected, "refusal");
  Check(message.size() > expected.size() && message.back() == '.',
        "a refusal that says what is accepted");
}

// What was given is what is there: texts to the letter, numbers by value.
void CheckAccepted(const Texts& given, const PlannerOptions& options) {
  const Texts texts = TextOf(options);
  const Texts defaults = TextOf(PlannerOptions());
  for (const auto& [name, type] : TypesOfOptions()) {
    const auto text = texts.find(name);
    Check(text != texts.end(), "every option in TextOf of options_fuzz.cc");
    const auto value = given.find(name);
    if (value == given.end()) {
      CheckEqual(text->second, defaults.at(name), "an option not given");
    } else if (type == "string") {
      CheckEqual(text->second, value->second, "a text");
    } else {
      CheckEqual(text->second, std::to_string(std::stoll(value->second)),
                 "a number");
    }
  }
  PlannerOptions again;
  CheckEqual(ParseOptions(texts, &again), "", "parsing what was parsed");
  Check(TextOf(again) == texts, "the same options again");
}

void TestOptions(const Texts& given) {
  PlannerOptions options;
  const std::string message = ParseOptions(given, &options);
  for (const auto& [name, value] : given) {
    PlannerOptions alone;
    const std::string refusal = ParseOptions({{name, value}}, &alone);
    if (refusal.empty()) continue;
    CheckRefusal(refusal, name, value);
    CheckEqual(message, refusal, "the first of the refusals");
    return;
  }
  CheckEqual(message, "", "refusal of options that are accepted one by one");
  CheckAccepted(given, options);
}

void TestLinkModel(std::string_view text) {
  const std::optional<LinkModel> link = ParseLinkModel(text);
  if (!link.has_value()) return;
  CheckEqual(link->name, text, "the link's name");
  const std::optional<LinkModel> again = ParseLinkModel(link->name);
  Check(again.has_value(), "a link named by a link");
  for (const HostMemory memory : {HostMemory::kPinned, HostMemory::kPageable}) {
    double last = 0;
    for (const int64_t bytes : {int64_t{0}, int64_t{1} << 20, INT64_MAX}) {
      const double seconds = link->Seconds(bytes, memory);
      Check(std::isfinite(seconds), "copies that end");
      Check(seconds >= last, "more bytes that take longer");
      CheckEqual(again->Seconds(bytes, memory), seconds, "the same link again");
      last = seconds;
    }
  }
  const double bandwidth = link->pinned_bytes_per_s;
  CheckEqual(link->pageable_bytes_per_s, bandwidth / 2, "pageable bandwidth");
  Check(bandwidth == 0 || (bandwidth >= 1e3 && bandwidth <= 1e15),
        "a bandwidth within its bounds, or none");
}

// The text is read back, to within the rounding of its last digit.
void TestFormatBytes(std::string_view line) {
  ByteReader reader(reinterpret_cast<const uint8_t*>(line.data()), line.size());
  const auto bytes = static_cast<int64_t>(reader.Number(8));
  const std::string text = FormatBytes(bytes);
  const size_t space = text.find(' ');
  Check(space != std::string::npos, "a number, a space and a unit");
  if (text.substr(space) == " B") {
    CheckEqual(std::stoll(text), bytes, "the bytes");
    return;
  }
  int64_t unit = 1;
  for (const char prefix : std::string_view("kMGTPE")) {
    unit *= 1000;
    if (text[space + 1] == prefix) break;
  }
  const size_t point = text.find('.');
  CheckEqual(point, space - 2, "where the point of a number is");
  const int64_t tenths = std::stoll(text.substr(0, point) + text[point + 1]);
  Check(std::abs(tenths * (unit / 10) - bytes) <= unit / 20,
        "a text near the bytes");
  Check(std::abs(tenths) < 10000, "the largest unit that fits");
}

void TestTierSpecs(std::string_view text) {
  std::vector<TierSpec> specs;
  std::string error;
  if (!ParseTierSpecs(text, &specs, &error)) {
    Check(!error.empty() && error.back() == '.', "what is wrong with a list");
    return;
  }
  Check(!specs.empty(), "a tier in a list");
  std::vector<TierSpec> again;
  Check(ParseTierSpecs(TierSpecsText(specs), &again, &error), "its own text");
  Check(again == specs, "the same tiers again");
}

// A parser of another single text is tested by a function of its own, called
// from here.
void TestLine(std::string_view line) {
  TestLinkModel(line);
  TestTierSpecs(line);
  TestFormatBytes(line);
}

void Run(std::string_view text) {
  Texts options;
  while (true) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    TestLine(line);
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos) {
      options[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  TestOptions(options);
}

}  // namespace
}  // namespace sn_tf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sn_tf::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
