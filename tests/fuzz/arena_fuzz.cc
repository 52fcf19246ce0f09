// SPDX-License-Identifier: Apache-2.0
//
// Lists of events on an arena and on a naive model of it, which must agree
// after each.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/core/arena.h"
#include "tests/cc/naive_arena.h"
#include "tests/fuzz/byte_reader.h"
#include "tests/fuzz/check.h"

namespace sn_tf {
namespace {

// Copies with its arena.
class Pair {
 public:
  Pair(int64_t capacity_bytes, int64_t unit_bytes)
      : arena_(capacity_bytes, unit_bytes), naive_(capacity_bytes, unit_bytes) {
    Compare();
  }

  void Step(ByteReader* bytes) {
    switch (bytes->Below(8)) {
      case 0:
      case 1:
        Allocate(Size(bytes), 1);
        break;
      case 2: {
        const int64_t size = Size(bytes);
        Allocate(size, int64_t{1} << bytes->Below(63));
        break;
      }
      case 3:
      case 4:
        if (!live_.empty()) Free(bytes->Below(live_.size()));
        break;
      case 5:
        Hold(Size(bytes), bytes->Byte());
        break;
      case 6:
        if (!held_.empty()) Release(bytes->Below(held_.size()));
        break;
      default:
        arena_.ResetPeak();
        naive_.ResetPeak();
    }
    Compare();
  }

  // All memory is free again, in one piece.
  void Finish() {
    while (!live_.empty()) Free(live_.size() - 1);
    while (!held_.empty()) Release(held_.size() - 1);
    Compare();
    CheckEqual(arena_.stats().largest_free_bytes,
               arena_.capacity_bytes() > 0 ? arena_.capacity_bytes() : 0,
               "the largest free range when all is freed");
  }

  void Compare() const {
    const ArenaStats stats = arena_.stats();
    const ArenaStats expected = naive_.stats();
    CheckEqual(stats.in_use_bytes, expected.in_use_bytes, "in_use_bytes");
    CheckEqual(arena_.in_use_bytes(), expected.in_use_bytes, "in_use_bytes()");
    CheckEqual(stats.peak_bytes, expected.peak_bytes, "peak_bytes");
    CheckEqual(stats.high_water_bytes, expected.high_water_bytes,
               "high_water_bytes");
    CheckEqual(stats.largest_free_bytes, expected.largest_free_bytes,
               "largest_free_bytes");
    CheckEqual(stats.allocations, expected.allocations, "allocations");
    Check(arena_.IsValid(), "a valid arena");
    const std::vector<Arena::Block> blocks = arena_.Blocks();
    const std::vector<NaiveArena::Range> ranges = naive_.Blocks();
    CheckEqual(blocks.size(), ranges.size(), "number of blocks");
    for (size_t i = 0; i < blocks.size(); ++i) {
      CheckEqual(blocks[i].offset, ranges[i].offset, "offset of a block");
      CheckEqual(blocks[i].bytes, ranges[i].bytes, "bytes of a block");
    }
  }

 private:
  // Sizes of every order, around the limits, and of what is there already.
  int64_t Size(ByteReader* bytes) const {
    switch (bytes->Below(8)) {
      case 0:
        return static_cast<int64_t>(bytes->Number(2));
      case 1:
        return static_cast<int64_t>(bytes->Number(3));
      case 2:
        return arena_.capacity_bytes() - bytes->Byte();
      case 3:
        return int64_t{1} << bytes->Below(63);
      case 4:
        return arena_.stats().largest_free_bytes - bytes->Byte();
      case 5:
        return live_.empty() ? 0
                             : naive_.SizeOf(live_[bytes->Below(live_.size())]);
      case 6:
        return static_cast<int64_t>(bytes->Number(8));
      default:
        return bytes->Byte();
    }
  }

  void Allocate(int64_t size, int64_t alignment) {
    const int64_t offset = alignment == 1 ? arena_.Allocate(size)
                                          : arena_.Allocate(size, alignment);
    CheckEqual(offset, naive_.Allocate(size, alignment), "offset");
    if (offset == Arena::kNoOffset) return;
    CheckEqual(offset % alignment, 0, "offset beyond its alignment");
    CheckEqual(arena_.SizeOf(offset), arena_.RoundUp(size), "SizeOf");
    live_.push_back(offset);
  }

  void Free(size_t index) {
    const int64_t offset = live_[index];
    live_[index] = live_.back();
    live_.pop_back();
    CheckEqual(arena_.SizeOf(offset), naive_.SizeOf(offset), "SizeOf");
    CheckEqual(arena_.Free(offset), naive_.Free(offset), "freed bytes");
    CheckEqual(arena_.SizeOf(offset), 0, "SizeOf what is free");
  }

  // Holds one of the free ranges of at least `min_bytes`, where there are any.
  void Hold(int64_t min_bytes, size_t choice) {
    const std::vector<Arena::FreeRange> ranges = arena_.FreeRanges(min_bytes);
    const std::vector<NaiveArena::Range> expected =
        naive_.FreeRanges(min_bytes);
    CheckEqual(ranges.size(), expected.size(), "number of free ranges");
    for (size_t i = 0; i < ranges.size(); ++i) {
      CheckEqual(ranges[i].offset, expected[i].offset, "offset of a range");
      CheckEqual(ranges[i].bytes, expected[i].bytes, "bytes of a range");
    }
    if (ranges.empty()) return;
    const Arena::FreeRange& range = ranges[choice % ranges.size()];
    arena_.Hold(range);
    naive_.Hold(range.offset);
    held_.push_back(range);
  }

  void Release(size_t index) {
    const Arena::FreeRange range = held_[index];
    held_[index] = held_.back();
    held_.pop_back();
    arena_.Release(range);
    naive_.Release(range.offset);
  }

  Arena arena_;
  NaiveArena naive_;
  std::vector<int64_t> live_;
  std::vector<Arena::FreeRange> held_;
};

// Small ones, which fill, to the largest; also some that are no capacity.
int64_t Capacity(ByteReader* bytes) {
  switch (bytes->Below(4)) {
    case 0:
      return static_cast<int64_t>(bytes->Number(3)) - 1000;
    case 1:
      return int64_t{1} << bytes->Below(63);
    case 2:
      return static_cast<int64_t>(bytes->Number(8) >> 1);
    default:
      return static_cast<int64_t>(bytes->Number(2));
  }
}

void Run(ByteReader* bytes) {
  constexpr size_t kMostUnitBits = 12;
  const int64_t capacity = Capacity(bytes);
  const int64_t unit = int64_t{1} << bytes->Below(kMostUnitBits + 1);
  std::vector<Pair> pairs = {Pair(capacity, unit), Pair(capacity, unit)};
  size_t current = 0;
  while (!bytes->empty()) {
    const size_t event = bytes->Below(16);
    if (event == 0) {  // Continues with a copy.
      pairs[1 - current] = pairs[current];
      current = 1 - current;
    } else if (event == 1) {  // Continues with the other.
      current = 1 - current;
      pairs[current].Compare();
    } else {
      pairs[current].Step(bytes);
    }
  }
  for (Pair& pair : pairs) pair.Finish();
}

}  // namespace
}  // namespace sn_tf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sn_tf::ByteReader bytes(data, size);
  sn_tf::Run(&bytes);
  return 0;
}
