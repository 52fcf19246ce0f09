// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_LINK_H_
#define SN_TF_CC_POOL_LINK_H_

#include <string>

#include "cc/pool/transfer_progress.h"
#include "cc/pool/transfer_queue.h"

namespace sn_tf {

// The path between a device's arena and a tier. Its directions do not wait for
// each other.
struct Link {
  // `leaving` is told of what moves out of the arena.
  Link(const std::string& name, TransferProgress* leaving)
      : out(name + "_out", leaving), in(name + "_in", &arriving) {}

  TransferProgress arriving;  // Before `in`, which tells it.
  TransferQueue out;
  TransferQueue in;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_LINK_H_
