// SPDX-License-Identifier: Apache-2.0
//
// Names shared by the graph pass and the kernels, and the only thing the two
// share: ops, attributes, and the prefixes of the nodes that the pass adds.
#ifndef SN_TF_CC_OPS_NAMES_H_
#define SN_TF_CC_OPS_NAMES_H_

namespace sn_tf {

// What the four do: see cc/ops/swapped_tensor.h. `needed_at` is the position in
// the plan at which the copy should have ended.
//
// SnSwapOut(tensor: T) -> handle: variant. Attributes: T, tiers, swap_dir,
// when, buffer, needed_at.
inline constexpr char kSwapOutOp[] = "SnSwapOut";
// SnSwapWait(handle: variant) -> ().
inline constexpr char kSwapWaitOp[] = "SnSwapWait";
// SnPrefetch(handle: variant) -> (). Attributes: needed_at.
inline constexpr char kPrefetchOp[] = "SnPrefetch";
// SnSwapIn(handle: variant) -> tensor: T. Attributes: T, buffer, needed_at.
inline constexpr char kSwapInOp[] = "SnSwapIn";
// SnObserve(inputs: T...) -> (). Attributes: T (list), observer (int), phase,
// of_device (the name of that whose memory is planned).
// Phase "begin" runs first in every step of a rewritten graph and tells the
// observer registered under that number the step's id and the shapes of
// `inputs`; phase "writes" runs before state is written, and lets it be written
// or fails the step; phase "end" runs after all that the plan orders.
inline constexpr char kObserveOp[] = "SnObserve";

// SnNextBatch(iterator: resource) -> components: output_types... Attributes:
// output_types, output_shapes (lists), observer (int). IteratorGetNext, but
// that the observer is given each batch, and may give one again.
inline constexpr char kNextBatchOp[] = "SnNextBatch";
inline constexpr char kIteratorGetNextOp[] = "IteratorGetNext";

// SnKeep(inputs: Tin...) -> outputs: Tout... Attributes: Tin, Tout (lists),
// node (a serialized NodeDef), key. Runs that node with a kernel that all nodes
// of the same key share.
inline constexpr char kKeepOp[] = "SnKeep";

// Move what a variable holds: see cc/ops/outside_buffer.h. Neither fails where
// it cannot move it: the variable then stays where it is.
//
// SnStateOut(variable: resource) -> (). Attributes: tiers, swap_dir, buffer,
// bytes, phase ("begin": before the step, what is not out yet).
inline constexpr char kStateOutOp[] = "SnStateOut";
// SnStateIn(variable: resource) -> (). Attributes: bytes, phase, slot (whether
// the variable is an optimizer's).
inline constexpr char kStateInOp[] = "SnStateIn";
// SnStateBack() -> (). Brings back whatever of its device is out, as far as
// there is room.
inline constexpr char kStateBackOp[] = "SnStateBack";

// The type of simulated accelerators: "/device:SIM:0".
inline constexpr char kSimDeviceType[] = "SIM";
// In Grappler's graphs, SIM:k goes by the name of CPU:<kFirstSimAlias + k>: see
// cc/device/sim_fusions.cc.
inline constexpr int kFirstSimAlias = 1000;

// SnHold(tensor: T) -> held: T, the same memory. Not folded as a constant. On
// accelerators its tensor is in host memory where its kernel has this label.
inline constexpr char kHostLabel[] = "host";
inline constexpr char kHoldOp[] = "SnHold";
// SnSplat() -> tensor: T. Attributes: T, value (one element), shape.
inline constexpr char kSplatOp[] = "SnSplat";

inline constexpr char kTypeAttr[] = "T";
// Of SnSwapOut: where to, as cc/pool/pool.h takes it, and when to leave.
inline constexpr char kTiersAttr[] = "tiers";
inline constexpr char kSwapDirAttr[] = "swap_dir";
inline constexpr char kWhenAttr[] = "when";
inline constexpr char kWhenNow[] = "now";
inline constexpr char kWhenNeeded[] = "needed";  // When memory is needed.
inline constexpr char kNeededAtAttr[] = "needed_at";
inline constexpr char kBufferAttr[] = "buffer";
inline constexpr char kBytesAttr[] = "bytes";
inline constexpr char kSlotAttr[] = "slot";
inline constexpr char kValueAttr[] = "value";
inline constexpr char kShapeAttr[] = "shape";
inline constexpr char kNodeAttr[] = "node";
inline constexpr char kKeyAttr[] = "key";
inline constexpr char kObserverAttr[] = "observer";
inline constexpr char kOfDeviceAttr[] = "of_device";
inline constexpr char kPhaseAttr[] = "phase";
inline constexpr char kPhaseBegin[] = "begin";
inline constexpr char kPhaseUse[] = "use";
inline constexpr char kPhaseWrites[] = "writes";
inline constexpr char kPhaseEnd[] = "end";

// Name prefix of nodes that the pass adds.
inline constexpr char kNodePrefix[] = "SnTf/";

// The pass's name in RewriterConfig.custom_optimizers.
inline constexpr char kPassName[] = "SuperNeurons";

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_NAMES_H_
