// SPDX-License-Identifier: Apache-2.0
#include "cc/core/tier_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace sn_tf {
namespace {

constexpr std::array<TierKind, 3> kKinds = {
    TierKind::kHost, TierKind::kCompressed, TierKind::kFile};

struct Unit {
  std::string_view name;
  int64_t bytes;
};

// Largest first.
constexpr std::array<Unit, 9> kUnits = {{
    {"TiB", int64_t{1} << 40},
    {"TB", 1'000'000'000'000},
    {"GiB", int64_t{1} << 30},
    {"GB", 1'000'000'000},
    {"MiB", int64_t{1} << 20},
    {"MB", 1'000'000},
    {"KiB", int64_t{1} << 10},
    {"KB", 1'000},
    {"B", 1},
}};

// No disk has so many.
constexpr int64_t kTooManyBytes = int64_t{1} << 60;

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool SameInAnyCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// 0 where `name` is no unit.
int64_t UnitBytes(std::string_view name) {
  if (name.empty()) return 1;
  for (const Unit& unit : kUnits) {
    if (SameInAnyCase(unit.name, name)) return unit.bytes;
  }
  return 0;
}

// Bytes of a number with or without a unit; 0 for anything else.
int64_t ParseSize(std::string_view text) {
  const size_t digits =
      std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, digits);
  const int64_t unit = UnitBytes(Trimmed(text.substr(digits)));
  if (number.empty() || number.front() == '.' || number.back() == '.') return 0;
  const char* const end = number.data() + number.size();
  if (number.find('.') == std::string_view::npos) {
    // Whole numbers stay exact at any size.
    int64_t count = 0;
    const auto [rest, failure] = std::from_chars(number.data(), end, count);
    if (failure != std::errc() || rest != end || unit == 0) return 0;
    return count < kTooManyBytes / unit ? count * unit : 0;
  }
  double count = 0;
  const auto [rest, failure] = std::from_chars(number.data(), end, count);
  if (failure != std::errc() || rest != end) return 0;
  const double bytes = count * static_cast<double>(unit);
  return bytes < static_cast<double>(kTooManyBytes)
             ? static_cast<int64_t>(bytes)
             : 0;
}

// What is wrong with the tier in `text`; empty where nothing is.
std::string ParseTierSpec(std::string_view text, std::vector<TierSpec>* specs) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::string name(Trimmed(text.substr(0, colon)));
  const auto* const kind =
      std::find_if(kKinds.begin(), kKinds.end(),
                   [&](TierKind each) { return name == TierName(each); });
  if (kind == kKinds.end()) return "no tier is called '" + name + "'";
  for (const TierSpec& other : *specs) {
    if (other.kind == *kind) return "'" + name + "' stands twice";
  }
  TierSpec spec;
  spec.kind = *kind;
  if (colon < text.size()) {
    const std::string_view size = Trimmed(text.substr(colon + 1));
    spec.limit_bytes = ParseSize(size);
    if (spec.limit_bytes == 0) return "'" + std::string(size) + "' is no size";
  }
  specs->push_back(spec);
  return "";
}

}  // namespace

const char* TierName(TierKind kind) {
  switch (kind) {
    case TierKind::kHost:
      return "host";
    case TierKind::kCompressed:
      return "compressed";
    case TierKind::kFile:
      return "file";
  }
  return "";
}

bool ParseTierSpecs(std::string_view text, std::vector<TierSpec>* specs,
                    std::string* error) {
  std::vector<TierSpec> parsed;
  for (std::string_view rest = text;;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string wrong = ParseTierSpec(rest.substr(0, comma), &parsed);
    if (!wrong.empty()) {
      *error = "Invalid tiers: " + wrong + ". Received: '" + std::string(text) +
               "'. Expected 'host', 'compressed' and 'file' in the order in "
               "which they are to be filled, each at most once, with commas "
               "between, and each with or without a size above 0 and below "
               "2^60 bytes after a colon, such as 'host:2GB,file' or "
               "'compressed:1.5GiB,file:20GB'.";
      return false;
    }
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  *specs = std::move(parsed);
  return true;
}

std::string TierSpecsText(const std::vector<TierSpec>& specs) {
  std::string text;
  for (const TierSpec& spec : specs) {
    if (!text.empty()) text += ",";
    text += TierName(spec.kind);
    if (spec.limit_bytes == 0) continue;
    const auto* const unit = std::find_if(
        kUnits.begin(), kUnits.end(),
        [&](const Unit& each) { return spec.limit_bytes % each.bytes == 0; });
    text += ":" + std::to_string(spec.limit_bytes / unit->bytes) +
            std::string(unit->name);
  }
  return text;
}

}  // namespace sn_tf
