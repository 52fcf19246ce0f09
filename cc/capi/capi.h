// SPDX-License-Identifier: Apache-2.0
//
// The C interface of the library: what Python (through ctypes) and the tests
// may call. Calls are thread-safe. Returned strings are UTF-8, owned by the
// caller, and freed with SnTfFreeString. A call that can fail returns nullptr
// on success and otherwise a message that says what happened, what was
// received, and what to do.
//
// Devices are named "CPU:0" or "SIM:0" (nullptr means "CPU:0"). Sizes are
// bytes.
#ifndef SN_TF_CC_CAPI_CAPI_H_
#define SN_TF_CC_CAPI_CAPI_H_

#include <stdint.h>

#define SN_TF_EXPORT __attribute__((visibility("default")))

extern "C" {

SN_TF_EXPORT void SnTfFreeString(char* text);

// The TensorFlow release that this library was compiled against: "2.21.0".
// The string is static.
SN_TF_EXPORT const char* SnTfCompiledVersion();

// ---- Allocator ------------------------------------------------------------

// Makes the arena TensorFlow's CPU allocator. 0, and nothing done, where
// TensorFlow has already allocated. Calling it again does nothing and returns
// the same.
SN_TF_EXPORT int SnTfInstallAllocator();

// JSON object: in_use_bytes peak_bytes resident_bytes budget_bytes (0: none)
// high_water_bytes largest_free_bytes allocations fragmentation
// swapped_out_bytes swapped_in_bytes host_tier_in_use_bytes evictions
// cache_hits cache_misses stall_seconds state_outside_bytes; of the CPU tiers,
// as SnTfMakeTiers returns them, of all pools; and of a simulated device
// memory_bytes, link (name to_device_bytes to_device_seconds
// to_device_modelled_seconds to_host_bytes to_host_seconds
// to_host_modelled_seconds stall_seconds elapsed_seconds bandwidth_bytes_per_s
// (0: unlimited)). resident_bytes is what was in use when the last observed
// step began (in_use_bytes when none has). nullptr for an unknown device.
SN_TF_EXPORT char* SnTfStats(const char* device);

// Forgets the peak and the high-water mark: both restart at what is in use.
SN_TF_EXPORT void SnTfResetPeak(const char* device);

// Sets the hard limit of what the device's arena may have in use; 0 lifts it.
// Fails when more than `bytes` is in use now.
SN_TF_EXPORT char* SnTfSetBudget(const char* device, int64_t bytes);

// The latest message of a step that ran out of the device's memory, as a JSON
// object: number (how many there were), message. NULL where there was none.
SN_TF_EXPORT char* SnTfLastOom(const char* device);

// Records every allocation and release until SnTfTraceStop, which returns them
// as a JSON array of objects: time_ns step_id op region ("output", "temp",
// "persistent", "other") dtype shape bytes id offset (of the block in the
// arena) event ("alloc", "free", "refused").
SN_TF_EXPORT void SnTfTraceStart(const char* device);
SN_TF_EXPORT char* SnTfTraceStop(const char* device);

// JSON array of the blocks that the device's arena has in use, by address:
// [offset, bytes] each. nullptr for an unknown device.
SN_TF_EXPORT char* SnTfBlocks(const char* device);

// Until SnTfCloseSink, ops that are refused memory get some that keeps nothing,
// and run on; what they compute means nothing. For measuring where the process
// would end otherwise: oneDNN kernels cannot bear to be refused.
SN_TF_EXPORT void SnTfOpenSink(const char* device);
// The first refusal since then, as a JSON object: op bytes in_use_bytes
// budget_bytes. NULL where there was none.
SN_TF_EXPORT char* SnTfCloseSink(const char* device);

// Makes the CPU's tiers of that list (cc/core/tier_spec.h) in that folder (""
// for the system's), unless they are made already, and measures them. JSON
// object: error (empty, or why they cannot be made) and tiers, an array of
// objects: name folder warning limit_bytes taken_bytes stored_bytes
// write_bytes_per_s read_bytes_per_s out_bytes in_bytes out_taken_bytes
// out_seconds in_seconds faults broken.
SN_TF_EXPORT char* SnTfMakeTiers(const char* tiers, const char* swap_dir);

// ---- Simulated accelerators -----------------------------------------------

// Makes `count` devices "SIM:0" and on, with `memory_bytes` each and a link
// as ParseLinkModel of cc/pool/link_model.h takes it. Before TensorFlow makes
// its devices; again only with the same arguments.
SN_TF_EXPORT char* SnTfSimConfigure(int count, int64_t memory_bytes,
                                    const char* link);

// How many were made.
SN_TF_EXPORT int SnTfSimCount();

// ---- Planning -------------------------------------------------------------

// JSON array of the pass's options, one object each: name type ("int",
// "string") default doc. Python's mirror is tested against it.
SN_TF_EXPORT char* SnTfOptionSchema();

// Checks `count` options, given as strings, the form in which they travel in
// the pass's parameter_map.
SN_TF_EXPORT char* SnTfCheckOptions(const char* const* names,
                                    const char* const* values, int count);

// A session joins the graphs that one activation (a callback, a scope) plans:
// their measured profiles and their reports. Its number is passed to the pass
// as the option `session`. Never 0; never reused in this process.
SN_TF_EXPORT int64_t SnTfSessionCreate();
SN_TF_EXPORT void SnTfSessionDestroy(int64_t session);

// The generation of plans that the session wants next: the option `generation`.
// It grows by one when a finished step has measured what a better plan can be
// made from; putting the new number into the configuration makes TensorFlow
// instantiate the function anew, through the pass. Cheap: called before every
// function call.
SN_TF_EXPORT int64_t SnTfSessionGeneration(int64_t session);

// JSON array of plan reports, oldest first; the latest of each function:
// function feasible policy budget_bytes stock_peak_bytes planned_peak_bytes
// expected_peak_bytes floor_bytes resident_bytes min_budget_bytes limiting_op
// added_seconds step_seconds costs ("estimated" | "measured") generation
// swapped_bytes swapped_buffers recomputed_ops state_bytes state_buffers ops
// plan_seconds reason actions: [{action ("swap" | "recompute" | "state"),
// buffer, bytes, from_op, to_op}].
// An array of none where the session is unknown.
SN_TF_EXPORT char* SnTfSessionReports(int64_t session);

// The graph that the latest plan of `function` was made of: the JSON object of
// grappler_pass/planner/graph_json.h. NULL where none was kept: graphs are
// where the option `report_dir` is set.
SN_TF_EXPORT char* SnTfSessionGraph(int64_t session, const char* function);

// The plan of such a graph, with `count` options as for SnTfCheckOptions: the
// JSON object of grappler_pass/planner/plan_json.h. `schedule` is NULL, or what
// to tell of instead of what the policy makes. Nothing runs.
SN_TF_EXPORT char* SnTfPlanGraph(const char* graph, const char* const* names,
                                 const char* const* values, int count,
                                 const char* schedule);

// To be called when a step has run out of memory: learns from the allocations
// that it got to, so that the reports tell whether any plan would have done.
SN_TF_EXPORT void SnTfSessionStepFailed(int64_t session);

// Behind that: 1 where the step had changed nothing and another plan may do.
// Its next run then gets the same batches from its iterators. Else 0.
SN_TF_EXPORT int SnTfSessionRepeatStep(int64_t session);

}  // extern "C"

#endif  // SN_TF_CC_CAPI_CAPI_H_
