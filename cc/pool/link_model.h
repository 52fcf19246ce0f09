// SPDX-License-Identifier: Apache-2.0
//
// How long copies take over the link of an accelerator that is simulated.
#ifndef SN_TF_CC_POOL_LINK_MODEL_H_
#define SN_TF_CC_POOL_LINK_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sn_tf {

// What an accelerator may copy by itself is pinned; the rest goes through a
// staging buffer of the driver, which costs bandwidth (SuperNeurons, 3.3.2).
enum class HostMemory { kPageable, kPinned };

// A direction of a link takes `latency_s` and bytes / bandwidth for a copy, one
// copy after the other. A bandwidth of 0 is without limit.
struct LinkModel {
  std::string name;  // As it was asked for.
  double pinned_bytes_per_s = 0;
  double pageable_bytes_per_s = 0;
  double latency_s = 0;

  double Seconds(int64_t bytes, HostMemory memory) const;
};

// The link that `text` describes; see docs/simulated_device.md:
// - "pcie4": a preset.
// - "pcie4/16": a preset slowed by a whole number. Its bandwidth is divided,
//   its latency multiplied, so that every copy takes so many times as long.
// - "800MB/s": a bandwidth of pinned memory, with half of it for pageable
//   memory and the latency of PCI Express.
// nullopt where it describes none.
std::optional<LinkModel> ParseLinkModel(std::string_view text);

// What ParseLinkModel takes, for messages.
std::string ExpectedLinkModels();

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_LINK_MODEL_H_
