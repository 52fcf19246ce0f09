// SPDX-License-Identifier: Apache-2.0
//
// A recorded trace of allocations, as `python -m benchmarks.arena_record`
// writes it.
#ifndef SN_TF_BENCHMARKS_ARENA_TRACE_H_
#define SN_TF_BENCHMARKS_ARENA_TRACE_H_

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace sn_tf {

struct ArenaTrace {
  struct Event {
    int32_t block = 0;
    int64_t bytes = 0;  // 0: the block is freed.
  };

  // Of the blocks that are in use at the beginning; their numbers are 0 and
  // on.
  std::vector<int64_t> resident;
  std::vector<Event> events;
  int32_t blocks = 0;  // Numbers used.
  int64_t peak_bytes = 0;
  bool is_budgeted = false;  // Recorded inside a budget.

  // Reads the file. Returns an empty string, or what is wrong with it.
  std::string Read(const std::string& path);

  // Appends the events after which the same blocks are in use as at the
  // beginning, so that the trace can be replayed again and again: in training,
  // too, the next step begins with blocks of the sizes that the last one began
  // with.
  void Close();

 private:
  // Follows the events. Returns an empty string, or what they do wrong.
  std::string Check();
};

inline std::string ArenaTrace::Read(const std::string& path) {
  std::ifstream in(path);
  const std::string expected =
      path + ": not a trace of benchmarks.arena_record. Record it again.";
  std::string word;
  size_t count = 0;
  if (!(in >> word) || word != "sn_tf_arena_trace") return expected;
  if (!(in >> word) || word != "1") return expected;
  if (!(in >> word >> is_budgeted) || word != "budgeted") return expected;
  if (!(in >> word >> count) || word != "resident") return expected;
  resident.resize(count);
  for (int64_t& bytes : resident) in >> bytes;
  if (!(in >> word >> count) || word != "events") return expected;
  events.resize(count);
  for (Event& event : events) {
    in >> word >> event.block;
    if (word == "a") in >> event.bytes;
  }
  if (!in) return expected;
  const std::string wrong = Check();
  return wrong.empty() ? "" : path + ": " + wrong;
}

inline std::string ArenaTrace::Check() {
  std::map<int32_t, int64_t> live;
  int64_t in_use = 0;
  for (const int64_t bytes : resident) {
    if (bytes <= 0) return "a resident block without bytes.";
    live[blocks++] = bytes;
    in_use += bytes;
  }
  peak_bytes = in_use;
  for (const Event& event : events) {
    if (event.block < 0 || event.bytes < 0) return "a number below 0.";
    if ((event.bytes == 0) != (live.count(event.block) == 1)) {
      return "block " + std::to_string(event.block) +
             " is freed or allocated twice.";
    }
    blocks = std::max(blocks, event.block + 1);
    if (event.bytes == 0) {
      in_use -= live[event.block];
      live.erase(event.block);
    } else {
      in_use += event.bytes;
      live[event.block] = event.bytes;
      peak_bytes = std::max(peak_bytes, in_use);
    }
  }
  return "";
}

inline void ArenaTrace::Close() {
  std::map<int32_t, int64_t> live;
  const auto residents = static_cast<int32_t>(resident.size());
  for (int32_t block = 0; block < residents; ++block) {
    live[block] = resident[block];
  }
  for (const Event& event : events) {
    if (event.bytes == 0) {
      live.erase(event.block);
    } else {
      live[event.block] = event.bytes;
    }
  }
  const auto stays = [&](int32_t block, int64_t bytes) {
    return block < residents && resident[block] == bytes;
  };
  for (const auto& [block, bytes] : live) {
    if (!stays(block, bytes)) events.push_back({block, 0});
  }
  for (int32_t block = 0; block < residents; ++block) {
    const auto found = live.find(block);
    if (found == live.end() || !stays(block, found->second)) {
      events.push_back({block, resident[block]});
    }
  }
}

}  // namespace sn_tf

#endif  // SN_TF_BENCHMARKS_ARENA_TRACE_H_
