// SPDX-License-Identifier: Apache-2.0
#include "cc/core/bytes.h"

#include <array>
#include <cstdio>

namespace sn_tf {

std::string FormatBytes(int64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"kB", "MB", "GB",
                                                 "TB", "PB", "EB"};
  // In unsigned arithmetic the smallest int64_t has a magnitude too.
  uint64_t magnitude = bytes < 0 ? uint64_t{0} - static_cast<uint64_t>(bytes)
                                 : static_cast<uint64_t>(bytes);
  const char* sign = bytes < 0 ? "-" : "";
  char text[32];
  if (magnitude < 1000) {
    std::snprintf(text, sizeof(text), "%s%d B", sign,
                  static_cast<int>(magnitude));
    return text;
  }
  // Tenths of the unit, rounded half up; a carry to 1000.0 takes the next unit.
  uint64_t unit = 1000;
  size_t index = 0;
  const auto tenths = [&] {
    const uint64_t tenth = unit / 10;
    return magnitude / tenth + (magnitude % tenth >= (tenth + 1) / 2 ? 1 : 0);
  };
  while (index + 1 < kUnits.size() && tenths() >= 10000) {
    unit *= 1000;
    ++index;
  }
  std::snprintf(text, sizeof(text), "%s%d.%d %s", sign,
                static_cast<int>(tenths() / 10),
                static_cast<int>(tenths() % 10), kUnits[index]);
  return text;
}

}  // namespace sn_tf
