// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/measured_seconds.h"

namespace sn_tf {

void SetMeasuredSeconds(const OpSeconds& measured, MemoryGraph* graph) {
  for (Op& op : graph->ops) {
    if (op.seconds == 0) continue;  // Runs elsewhere, or not at all.
    const auto own = measured.find(op.name);
    if (own != measured.end()) {
      op.seconds = own->second;
    } else if (op.partner != kNone &&
               measured.count(graph->ops[op.partner].name) > 0) {
      op.seconds = 0;
    }
  }
}

}  // namespace sn_tf
