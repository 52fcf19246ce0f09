// SPDX-License-Identifier: Apache-2.0
//
// What the planner knows of a training step: ops, the buffers they read and
// write, and nothing of TensorFlow.
//
// Words
//   op        one node of the optimised graph.
//   buffer    memory that one op writes. Tensors that alias it (Identity,
//             Reshape, ...) share it: an op that reads such a tensor reads the
//             buffer, and the aliasing op itself reads it and writes nothing.
//   view      a buffer that is a variable's own memory, handed out by a read.
//             It costs nothing until the variable is overwritten while the
//             view is still to be read: TensorFlow then copies the variable.
//   in place  an op that writes in place puts what it writes into the memory of
//             what it reads, where that is read for the last time.
//   resident  what outlives a step: weights, optimizer state, constants,
//             arguments. One number for the whole graph.
//   layer bytes, floor: see LayerBytes and FloorBytes.
#ifndef SN_TF_GRAPPLER_PASS_PLANNER_GRAPH_H_
#define SN_TF_GRAPPLER_PASS_PLANNER_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sn_tf {

using OpId = int32_t;
using BufferId = int32_t;
inline constexpr int32_t kNone = -1;

// A buffer that is written in place: into the memory of one of `inputs`, nobody
// knows which, where each of them is read for the last time. All of one size;
// empty: memory of its own.
struct InPlace {
  BufferId output = kNone;
  std::vector<BufferId> inputs;  // Ascending.

  bool empty() const { return inputs.empty(); }
};

struct Op {
  std::string name;
  std::string type;
  // Ops that must have run before this one, by data or by control; ascending.
  std::vector<OpId> after;
  // Ops that had better run before this one: readers of a variable that this
  // op overwrites. Ignored where `after` says otherwise; ascending.
  std::vector<OpId> soft_after;
  // Buffers read through any alias, and buffers written; ascending.
  std::vector<BufferId> reads;
  std::vector<BufferId> writes;
  int64_t workspace_bytes = 0;
  InPlace in_place;
  double seconds = 0;
  // Running it again gives the same bits and changes nothing else.
  bool pure = false;
  // An op that must stay next to this one in the route, because a later pass
  // of TensorFlow may fuse the two; kNone: none. Symmetric.
  OpId partner = kNone;
};

struct Buffer {
  std::string name;  // "node:port" of the tensor that owns it.
  int64_t bytes = 0;
  OpId producer = kNone;
  std::vector<OpId> readers;  // Ascending.
  // May leave the arena and come back (memcpy semantics, in no frame).
  bool movable = false;
  // A view of a variable; it is not allocated by its producer.
  bool view = false;
  // What its readers take longer when they read it from a copy that came back
  // and not from its producer, or from its producer run again: a later pass of
  // TensorFlow merges the two only where one feeds the other.
  double apart_seconds = 0;
  // Views only: the op that overwrites the variable, or kNone. It overwrites no
  // other variable.
  OpId overwriter = kNone;

  // Whether a plan may take it away, where buffers of less than `least_bytes`
  // stay.
  bool MayMove(int64_t least_bytes) const {
    return movable && !view && bytes >= least_bytes;
  }
};

struct MemoryGraph {
  std::vector<Op> ops;
  std::vector<Buffer> buffers;
  // In use throughout the step, whatever the plan.
  int64_t resident_bytes = 0;

  // Inputs, outputs and workspace of one op: what must be in memory at once
  // for it to run (l_i in the paper, section 3.1). What it may write in place
  // counts once.
  int64_t LayerBytes(OpId op) const;

  // The op with the largest layer bytes; the first of equals; kNone if empty.
  OpId LargestLayer() const;

  // resident + max(l_i): no plan that runs ops whole can need less.
  int64_t FloorBytes() const;

  // Bytes of what `op` writes in place, where it does.
  int64_t InPlaceBytes(OpId op) const;

  // Of all ops, one after the other.
  double StepSeconds() const;

  // Per op, those that come directly after it, ascending.
  std::vector<std::vector<OpId>> Successors() const;

  // Ops so that each comes after its `after`; those on cycles, and what comes
  // after them, are missing.
  std::vector<OpId> TopologicalOrder() const;

  // Length of the longest path to each op of such an order; 0 for the others.
  std::vector<int32_t> Levels(const std::vector<OpId>& order) const;

  // Whether the order of this op matters for memory: it touches a buffer or
  // needs a workspace. Others run whenever they are ready.
  bool TouchesMemory(OpId op) const;

  // Empty if every invariant holds, else the first that does not.
  std::string Validate() const;

 private:
  bool MayWriteInPlace(const Op& op) const;
};

// Makes ids ascending, each once.
void SortUnique(std::vector<int32_t>* ids);

// Fills Buffer::readers from Op::reads.
void ConnectReaders(MemoryGraph* graph);

}  // namespace sn_tf

#endif  // SN_TF_GRAPPLER_PASS_PLANNER_GRAPH_H_
