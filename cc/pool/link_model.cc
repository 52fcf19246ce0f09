// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/link_model.h"

#include <cstddef>

namespace sn_tf {
namespace {

constexpr double kGB = 1e9;

// Of what a PCI Express lane carries, after line coding, about this part is
// payload: packets of 256 bytes with 20 to 24 bytes of framing and header, and
// the acknowledgements and credits in the other direction.
constexpr double kPciePayload = 0.85;
constexpr double kPcieLatency = 10e-6;
// Pageable memory costs at least half of the speed (SuperNeurons, 3.3.2).
constexpr double kPageable = 0.5;

struct Preset {
  std::string_view name;
  double bytes_per_s = 0;  // 0: without limit.
  double latency_s = 0;
};

// 16 lanes, 128 bits of payload in 130.
constexpr Preset Pcie(std::string_view name, double transfers_per_s) {
  return {name, transfers_per_s * 16 / 8 * 128 / 130 * kPciePayload,
          kPcieLatency};
}

// Bricks of 8 lanes at 25 Gbit/s (NVLink 2) or 2 lanes at 100 Gbit/s
// (NVLink 4): 25 GB/s a direction each. Their packets carry 256 bytes of
// payload in 18 flits of 16.
constexpr Preset Nvlink(std::string_view name, int bricks) {
  return {name, bricks * 25 * kGB * 16 / 18, 8e-6};
}

constexpr Preset kPresets[] = {
    Pcie("pcie3", 8e9),   Pcie("pcie4", 16e9),   Pcie("pcie5", 32e9),
    Nvlink("nvlink2", 6), Nvlink("nvlink4", 18), {"unlimited", 0, 0},
};

constexpr int kMostTimesSlower = 1'000'000;

// Bounds of a bandwidth that is written: no copy may last for centuries, in
// which the clock cannot count, nor end before it began.
constexpr double kLeastBytesPerS = 1e3;
constexpr double kMostBytesPerS = 1e15;

struct Unit {
  std::string_view name;
  double bytes_per_s = 0;
};

// Bandwidths are often told in bits, "Mb/s", so case matters; but for the k,
// which stands for nothing else.
constexpr Unit kUnits[] = {
    {"B/s", 1},
    {"kB/s", 1e3},
    {"KB/s", 1e3},
    {"MB/s", 1e6},
    {"GB/s", 1e9},
    {"TB/s", 1e12},
    {"KiB/s", 1ULL << 10},
    {"MiB/s", 1ULL << 20},
    {"GiB/s", 1ULL << 30},
    {"TiB/s", 1ULL << 40},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Removes the digits in front of `text` and appends them to `number`. Returns
// how many there were.
int TakeDigits(std::string_view* text, double* number) {
  int digits = 0;
  while (!text->empty() && IsDigit(text->front())) {
    *number = *number * 10 + (text->front() - '0');
    text->remove_prefix(1);
    ++digits;
  }
  return digits;
}

// By hand: the standard library's functions follow the locale, or are not in
// all of the compilers that build this.
std::optional<double> TakeNumber(std::string_view* text) {
  double number = 0;
  if (TakeDigits(text, &number) == 0) return std::nullopt;
  if (text->empty() || text->front() != '.') return number;
  text->remove_prefix(1);
  const int decimals = TakeDigits(text, &number);
  if (decimals == 0) return std::nullopt;
  for (int i = 0; i < decimals; ++i) number /= 10;
  return number;
}

// Of "800MB/s"; nullopt for anything else.
std::optional<double> ParseBandwidth(std::string_view text) {
  const std::optional<double> number = TakeNumber(&text);
  if (!number.has_value()) return std::nullopt;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (unit.name != text) continue;
    const double bandwidth = *number * unit.bytes_per_s;
    if (bandwidth < kLeastBytesPerS || bandwidth > kMostBytesPerS) break;
    return bandwidth;
  }
  return std::nullopt;
}

// Of "16", as after the slash of "pcie4/16"; nullopt for anything else.
std::optional<double> ParseTimesSlower(std::string_view text) {
  double times = 0;
  if (TakeDigits(&text, &times) == 0 || !text.empty()) return std::nullopt;
  if (times < 1 || times > kMostTimesSlower) return std::nullopt;
  return times;
}

const Preset* FindPreset(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

LinkModel MakeModel(std::string_view name, double bytes_per_s,
                    double latency_s) {
  return {std::string(name), bytes_per_s, bytes_per_s * kPageable, latency_s};
}

}  // namespace

double LinkModel::Seconds(int64_t bytes, HostMemory memory) const {
  const double bandwidth =
      memory == HostMemory::kPinned ? pinned_bytes_per_s : pageable_bytes_per_s;
  return latency_s +
         (bandwidth > 0 ? static_cast<double>(bytes) / bandwidth : 0);
}

std::optional<LinkModel> ParseLinkModel(std::string_view text) {
  if (const Preset* const preset = FindPreset(text)) {
    return MakeModel(text, preset->bytes_per_s, preset->latency_s);
  }
  if (const auto bandwidth = ParseBandwidth(text)) {
    return MakeModel(text, *bandwidth, kPcieLatency);
  }
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const Preset* const preset = FindPreset(text.substr(0, slash));
  const auto times = ParseTimesSlower(text.substr(slash + 1));
  // No part of a bandwidth without limit is one.
  if (preset == nullptr || preset->bytes_per_s == 0 || !times.has_value()) {
    return std::nullopt;
  }
  return MakeModel(text, preset->bytes_per_s / *times,
                   preset->latency_s * *times);
}

std::string ExpectedLinkModels() {
  std::string expected = "one of ";
  for (const Preset& preset : kPresets) {
    if (&preset != kPresets) expected += ", ";
    expected += preset.name;
  }
  return expected +
         "; one of those with a bandwidth, slowed by a whole number up to " +
         std::to_string(kMostTimesSlower) +
         ", such as 'pcie4/16'; or a bandwidth from 1 kB/s to 1000 TB/s, such "
         "as '800MB/s' or '1.5GiB/s' (bytes; case matters)";
}

}  // namespace sn_tf
