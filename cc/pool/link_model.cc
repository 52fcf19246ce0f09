// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/link_model.h"

namespace sn_tf {
namespace {

constexpr double kGB = 1e9;

// Of what a PCI Express lane carries, after line coding, about this part is
// payload: packets of 256 bytes with 20 to 24 bytes of framing and header, and
// the acknowledgements and credits in the other direction.
constexpr double kPciePayload = 0.85;
// 16 lanes, 128 bits of payload in 130.
constexpr double PcieBytesPerS(double transfers_per_s) {
  return transfers_per_s * 16 / 8 * 128 / 130 * kPciePayload;
}
// Pageable memory costs at least half of the speed (SuperNeurons, 3.3.2).
constexpr double kPageable = 0.5;

constexpr LinkModel Pcie(std::string_view name, double transfers_per_s) {
  return {name, PcieBytesPerS(transfers_per_s),
          PcieBytesPerS(transfers_per_s) * kPageable, 10e-6};
}

// Bricks of 8 lanes at 25 Gbit/s (NVLink 2) or 2 lanes at 100 Gbit/s
// (NVLink 4): 25 GB/s a direction each. Their packets carry 256 bytes of
// payload in 18 flits of 16.
constexpr LinkModel Nvlink(std::string_view name, int bricks) {
  const double bandwidth = bricks * 25 * kGB * 16 / 18;
  return {name, bandwidth, bandwidth * kPageable, 8e-6};
}

constexpr LinkModel kPresets[] = {
    Pcie("pcie3", 8e9),   Pcie("pcie4", 16e9),   Pcie("pcie5", 32e9),
    Nvlink("nvlink2", 6), Nvlink("nvlink4", 18), {"unlimited", 0, 0, 0},
};

}  // namespace

double LinkModel::Seconds(int64_t bytes, HostMemory memory) const {
  const double bandwidth =
      memory == HostMemory::kPinned ? pinned_bytes_per_s : pageable_bytes_per_s;
  return latency_s +
         (bandwidth > 0 ? static_cast<double>(bytes) / bandwidth : 0);
}

const LinkModel* FindLinkModel(std::string_view name) {
  for (const LinkModel& preset : kPresets) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

std::string LinkModelNames() {
  std::string names;
  for (const LinkModel& preset : kPresets) {
    if (!names.empty()) names += ", ";
    names += preset.name;
  }
  return names;
}

}  // namespace sn_tf
