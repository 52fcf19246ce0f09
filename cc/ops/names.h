// SPDX-License-Identifier: Apache-2.0
//
// Names shared by the graph pass and the kernels, and the only thing the two
// share: ops, attributes, and the prefixes of the nodes that the pass adds.
#ifndef SN_TF_CC_OPS_NAMES_H_
#define SN_TF_CC_OPS_NAMES_H_

namespace sn_tf {

// SnSwapOut(tensor: T) -> handle: variant. Attributes: T, tier, buffer.
inline constexpr char kSwapOutOp[] = "SnSwapOut";
// SnSwapIn(handle: variant) -> tensor: T. Attributes: T, buffer.
inline constexpr char kSwapInOp[] = "SnSwapIn";
// SnObserve(inputs: T...) -> (). Attributes: T (list), observer (int), phase,
// of_device (the name of that whose memory is planned).
// Phase "begin" runs first in every step of a rewritten graph and tells the
// observer registered under that number the step's id and the shapes of
// `inputs`; phase "writes" runs before state is written, and lets it be written
// or fails the step; phase "end" runs after all that the plan orders.
inline constexpr char kObserveOp[] = "SnObserve";

// SnKeep(inputs: Tin...) -> outputs: Tout... Attributes: Tin, Tout (lists),
// node (a serialized NodeDef), key. Runs that node with a kernel that all nodes
// of the same key share.
inline constexpr char kKeepOp[] = "SnKeep";

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
inline constexpr char kTierAttr[] = "tier";
inline constexpr char kBufferAttr[] = "buffer";
inline constexpr char kValueAttr[] = "value";
inline constexpr char kShapeAttr[] = "shape";
inline constexpr char kNodeAttr[] = "node";
inline constexpr char kKeyAttr[] = "key";
inline constexpr char kObserverAttr[] = "observer";
inline constexpr char kOfDeviceAttr[] = "of_device";
inline constexpr char kPhaseAttr[] = "phase";
inline constexpr char kPhaseBegin[] = "begin";
inline constexpr char kPhaseWrites[] = "writes";
inline constexpr char kPhaseEnd[] = "end";

// Name prefix of nodes that the pass adds.
inline constexpr char kNodePrefix[] = "SnTf/";

// The pass's name in RewriterConfig.custom_optimizers.
inline constexpr char kPassName[] = "SuperNeurons";

}  // namespace sn_tf

#endif  // SN_TF_CC_OPS_NAMES_H_
