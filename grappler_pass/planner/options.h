// SPDX-License-Identifier: Apache-2.0
//
// Every option of the pass, defined once. `ParseOptions` reads them from the
// strings of the pass's parameter_map by one table; `OptionTable` describes
// that table to Python, whose mirror is tested against it.
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_OPTIONS_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sn_tf {

struct PlannerOptions {
  // Most bytes that the device's arena may have in use. 0: no limit, the
  // route is fixed and nothing moves.
  int64_t budget_bytes = 0;
  // "auto": what adds least time. "liveness": fix the route, move nothing.
  // "swap": the same as "auto", without recomputation. "vdnn_all", "vdnn_conv",
  // "vdnn_dyn": as vDNN does it; see planner/vdnn.h. "speed_centric",
  // "memory_centric", "cost_aware", and with swapped checkpoints
  // "superneurons": as SuperNeurons does it; see planner/segments.h.
  std::string policy = "auto";
  // A list as cc/core/tier_spec.h takes it, "none" (recomputation only), or
  // "auto": "host".
  std::string tiers = "auto";
  // Folder of the file tier; empty: the system's for temporary files.
  std::string swap_dir;
  // The tensor cache: with "on", what a plan may move but need not stays where
  // it is until memory is needed.
  std::string cache = "on";
  // What an unknown leading dimension of the step's inputs is planned as;
  // 0: unknown until a step has been observed.
  int64_t batch_size = 0;
  // "CPU:0": the device whose memory is planned.
  std::string device = "CPU:0";
  // Folder into which reports are written as JSON; empty: none.
  std::string report_dir;
  // Buffers smaller than this stay where they are.
  int64_t min_buffer_bytes = 64 * 1024;
  // Bandwidth of the links to the tiers, each direction.
  int64_t link_bandwidth_bytes_per_s = 6'000'000'000;
  // The session (see cc/capi/capi.h) that keeps profiles and reports; 0: none.
  int64_t session = 0;
  // Generation of the plan; see SnTfSessionGeneration.
  int64_t generation = 0;
};

// What swap ops are told of the tiers.
std::string TiersOf(const PlannerOptions& options);

struct OptionInfo {
  std::string name;
  std::string type;  // "int" or "string".
  std::string default_value;
  std::string doc;
};

// One entry per field of PlannerOptions, in its order.
std::vector<OptionInfo> OptionTable();

// Fills `*options` from `values`. Returns an empty string, or a message that
// names the first bad option, what was received, and what is accepted; then
// `*options` is unspecified.
std::string ParseOptions(const std::map<std::string, std::string>& values,
                         PlannerOptions* options);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_OPTIONS_H_
