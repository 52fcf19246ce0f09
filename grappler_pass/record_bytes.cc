// SPDX-License-Identifier: Apache-2.0
//
// What a graph's record knows of bytes in use: variables that are out of the
// memory for a while count as if they were in it, so that numbers from before
// and after a move are the same.
#include <algorithm>

#include "cc/allocator/arena_allocator.h"
#include "grappler_pass/graph_record.h"

namespace sn_tf {

int64_t GraphRecord::InUse() const {
  return arena_->stats().arena.in_use_bytes +
         std::min(arena_->state_outside_bytes(), BytesOf(moves_));
}

int64_t GraphRecord::WithStateOutside() const {
  return arena_->stats().arena.in_use_bytes + arena_->state_outside_bytes();
}

void GraphRecord::NoteResident(const PlannedGraph& planned) {
  planned_resident_bytes_ =
      planned.imported.memory.resident_bytes + BytesOf(planned.moves);
}

}  // namespace sn_tf
