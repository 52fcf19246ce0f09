// SPDX-License-Identifier: Apache-2.0
#include "cc/allocator/out_of_memory.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cc/core/bytes.h"
#include "tensorflow/core/framework/types.h"

namespace sn_tf {
namespace {

constexpr size_t kThings = 3;

// "1.2 MB (1200000 bytes)".
std::string Exactly(int64_t bytes) {
  return absl::StrCat(FormatBytes(bytes), " (", bytes, " bytes)");
}

std::string Count(int64_t buffers) {
  return absl::StrCat(buffers, buffers == 1 ? " buffer" : " buffers");
}

// "float[2,3]"; empty where nothing is known.
std::string TypeOf(int32_t dtype, const std::string& shape) {
  if (dtype == tensorflow::DT_INVALID) return shape;
  return absl::StrCat(
      tensorflow::DataTypeString(static_cast<tensorflow::DataType>(dtype)),
      shape);
}

std::string Named(const std::string& op) {
  return op.empty() ? "what runs outside of ops" : op;
}

const char* Describe(Refusal::Limit limit) {
  switch (limit) {
    case Refusal::Limit::kBudget:
      return "that would pass the budget";
    case Refusal::Limit::kMemory:
      return "the device has no such block";
    case Refusal::Limit::kAddresses:
      return "the addresses reserved for the arena have no such block";
  }
  return "";
}

std::string Headline(const OutOfMemory& out) {
  const Refusal& refusal = out.refusal;
  const std::string type = TypeOf(refusal.dtype, refusal.shape);
  return absl::StrCat("OOM when allocating ", Exactly(refusal.bytes),
                      type.empty() ? "" : ", " + type, ", for ",
                      Named(refusal.op), " by ", out.memory, ": ",
                      Describe(refusal.limit), ".\n");
}

std::string Use(const Refusal& refusal) {
  const char* const limit =
      refusal.limit == Refusal::Limit::kBudget ? "Budget" : "Memory";
  const int64_t free = refusal.budget_bytes - refusal.in_use_bytes;
  std::string text = absl::StrCat(limit, ": ", Exactly(refusal.budget_bytes),
                                  ". In use: ", Exactly(refusal.in_use_bytes));
  if (refusal.live.before_bytes > 0) {
    absl::StrAppend(&text, ", ", FormatBytes(refusal.live.before_bytes),
                    " of it from before this step");
  }
  absl::StrAppend(&text, ". Free: ", FormatBytes(free));
  if (refusal.largest_free_bytes < free) {
    absl::StrAppend(&text, ", in pieces of at most ",
                    FormatBytes(refusal.largest_free_bytes));
  }
  return text + ".\n";
}

std::string LineOf(int64_t bytes, const std::string& what) {
  return absl::StrFormat("  %8s  %s\n", FormatBytes(bytes), what);
}

std::string Buffers(const LiveBuffers& buffers) {
  std::string text = buffers.op.empty() ? "made outside of ops" : buffers.op;
  const std::string type = TypeOf(buffers.dtype, buffers.shape);
  const char* separator = ": ";
  const auto add = [&](const std::string& detail) {
    if (detail.empty()) return;
    absl::StrAppend(&text, separator, detail);
    separator = ", ";
  };
  if (buffers.buffers > 1) {
    add(Count(buffers.buffers));
    add(type.empty() ? "" : "largest " + type);
  } else {
    add(type);
  }
  if (buffers.region == AllocationEvent::Region::kTemp) add("workspace");
  if (buffers.of_before) add("from before this step");
  return text;
}

std::string Largest(const Refusal& refusal) {
  if (refusal.live.largest.empty()) return "";
  std::string text = "Largest live buffers, by op:\n";
  int64_t others = refusal.in_use_bytes;
  for (const LiveBuffers& buffers : refusal.live.largest) {
    text += LineOf(buffers.bytes, Buffers(buffers));
    others -= buffers.bytes;
  }
  return others > 0 ? text + LineOf(others, "all others") : text;
}

std::string Immovable(const OutOfMemory& out) {
  const ImmovableMemory& stays = out.refusal.immovable;
  std::string text;
  if (stays.locked_buffers > 0) {
    absl::StrAppend(&text, "The tensor cache could not move ",
                    Count(stays.locked_buffers), " of ",
                    FormatBytes(stays.locked_bytes), ": ops use them.\n");
  }
  if (stays.refused_buffers > 0) {
    absl::StrAppend(&text, "The tensor cache could not move ",
                    Count(stays.refused_buffers), " of ",
                    FormatBytes(stays.refused_bytes), ": no tier took them (",
                    stays.reason, ").\n");
  }
  if (!text.empty()) return text;
  return out.planned.has_value()
             ? "The tensor cache held nothing more that could move.\n"
             : "The tensor cache held nothing that could move: it holds "
               "buffers of planned steps only.\n";
}

std::string Smallest(const OutOfMemory& out) {
  const Refusal& refusal = out.refusal;
  const int64_t smallest = SmallestBudget(out);
  std::string text = "Smallest budget that would fit: ";
  if (!out.planned.has_value()) {
    absl::StrAppend(&text, "at least ", Exactly(smallest),
                    ", what was in use and what was asked for");
  } else if (!out.planned->measured) {
    absl::StrAppend(&text, "at least ", Exactly(smallest),
                    "; no whole step was measured yet");
  } else {
    absl::StrAppend(&text, Exactly(smallest), ", by the plan");
  }
  if (refusal.in_pieces) {
    absl::StrAppend(&text, "; there is more, but in pieces");
  } else if (smallest <= refusal.budget_bytes) {
    const bool of_plan = out.planned.has_value() && out.planned->measured;
    absl::StrAppend(&text,
                    of_plan ? " made anew; the present one needs at least "
                            : "; the present plan needs at least ",
                    FormatBytes(refusal.needed_bytes));
  }
  return text + ".\n";
}

std::string MoreMemory(const OutOfMemory& out) {
  const int64_t bytes = std::max(SmallestBudget(out), out.refusal.needed_bytes);
  switch (out.refusal.limit) {
    case Refusal::Limit::kBudget:
      return absl::StrCat("Raise the budget to at least ", Exactly(bytes), ".");
    case Refusal::Limit::kMemory:
      return absl::StrCat(
          "Use a device with ",
          out.refusal.in_pieces
              ? "more memory."
              : absl::StrCat("at least ", Exactly(bytes), " of memory."));
    case Refusal::Limit::kAddresses:
      return "Raise the limit on this process's address space (ulimit -v).";
  }
  return "";
}

// What helps where buffers could have left, or a plan could have been made.
std::string MoreMoves(const OutOfMemory& out) {
  if (!out.planned.has_value()) {
    return "Let sn_tf plan the step: sn_tf.MemoryBudget(budget) in fit, or "
           "sn_tf.scope(budget) around it. sn_tf.report() then tells what was "
           "planned, or why nothing was.";
  }
  if (out.refusal.immovable.refused_buffers > 0) {
    return absl::StrCat(
        "Give the tiers more room, or add one: "
        "tiers='host,file'; it was tiers='",
        out.planned->tiers, "'.");
  }
  if (out.planned->tiers == "none") {
    return "Let buffers leave for a tier: tiers='host' or tiers='file' in "
           "place of tiers='none'.";
  }
  return "";
}

std::string LessHeld(const Refusal& refusal) {
  if (refusal.live.before_bytes == 0) {
    return "Free tensors and models that are no longer needed.";
  }
  return absl::StrCat("Free what is held between steps and not needed: ",
                      FormatBytes(refusal.live.before_bytes),
                      " are from before this step.");
}

// The first three of what may help, the most likely first.
std::vector<std::string> ThingsToTry(const OutOfMemory& out) {
  const Refusal& refusal = out.refusal;
  std::vector<std::string> things;
  if (refusal.in_pieces && out.planned.has_value()) {
    things.push_back("Lower the budget: plans then leave more room between.");
  }
  things.push_back(MoreMemory(out));
  things.push_back(MoreMoves(out));
  things.push_back("Use a smaller batch, or smaller inputs.");
  things.push_back(LessHeld(refusal));
  if (2 * refusal.live.before_bytes > refusal.in_use_bytes) {
    std::swap(things.back(), things[things.size() - 2]);
  }
  things.erase(std::remove(things.begin(), things.end(), ""), things.end());
  things.resize(kThings);
  return things;
}

}  // namespace

int64_t SmallestBudget(const OutOfMemory& out) {
  const bool known =
      out.planned.has_value() && out.planned->min_budget_bytes > 0;
  return known ? out.planned->min_budget_bytes : out.refusal.needed_bytes;
}

std::string MessageOf(const OutOfMemory& out) {
  const bool goes_on = out.planned.has_value() && !out.planned->outcome.empty();
  std::string text =
      absl::StrCat(Headline(out), Use(out.refusal), Largest(out.refusal),
                   Immovable(out), Smallest(out));
  if (goes_on) absl::StrAppend(&text, out.planned->outcome, "\n");
  text += goes_on ? "If it happens again, three things to try:"
                  : "Three things to try:";
  int number = 0;
  for (const std::string& thing : ThingsToTry(out)) {
    absl::StrAppend(&text, "\n  ", ++number, ". ", thing);
  }
  return text;
}

}  // namespace sn_tf
