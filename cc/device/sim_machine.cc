// SPDX-License-Identifier: Apache-2.0
#include "cc/device/sim_machine.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cc/allocator/arenas.h"
#include "cc/core/address_range.h"
#include "cc/core/bytes.h"
#include "cc/device/sim_kernels.h"
#include "cc/ops/names.h"
#include "cc/pool/pool.h"

namespace sn_tf {
namespace {

constexpr int kMostUnits = 16;

struct SimMachine {
  std::mutex mutex;
  bool started = false;
  SimOptions options;
  std::vector<std::unique_ptr<SimUnit>> units;
};

SimMachine& Machine() {
  static auto* const machine = new SimMachine();
  return *machine;
}

std::string Describe(const SimOptions& options) {
  return absl::StrCat(options.count, " x ", FormatBytes(options.memory_bytes),
                      ", link ", options.link);
}

std::string Check(const SimOptions& options) {
  if (options.count < 1 || options.count > kMostUnits) {
    return absl::StrCat(
        "Invalid value for argument `count`. Received: count=", options.count,
        ". Expected 1 to ", kMostUnits, " devices.");
  }
  if (!ParseLinkModel(options.link).has_value()) {
    return absl::StrCat("Invalid value for argument `link`. Received: link='",
                        options.link, "'. Expected ", ExpectedLinkModels(),
                        ".");
  }
  const int64_t physical = AddressRange::PhysicalMemoryBytes();
  if (options.memory_bytes <= 0 ||
      options.memory_bytes > physical / options.count) {
    return absl::StrCat(
        "Invalid value for argument `memory`. Received: ", options.count,
        options.count == 1 ? " device of " : " devices of ",
        options.memory_bytes,
        " bytes. A simulated device's memory is part of this machine's, which "
        "has ",
        FormatBytes(physical), ": choose at most ",
        FormatBytes(physical / options.count), " for each.");
  }
  return "";
}

}  // namespace

SimUnit::SimUnit(int index, int64_t memory_bytes, const LinkModel& model)
    : index(index),
      memory(absl::StrCat(kSimDeviceType, "_", index, "_bfc"), memory_bytes,
             tsl::AllocatorMemoryType::kDevice),
      link(absl::StrCat("sim", index), model) {
  // An allocation that does not fit waits for the copies that free memory.
  memory.SetPressureCallback([this](int64_t bytes_needed) {
    thread_local std::array<uint64_t, kMostUnits> seen{};
    const StallClock::Waiting waiting(&link.stalls);
    return cache.MakeRoom(bytes_needed, &seen[this->index]);
  });
  memory.SetEvictableCallback([this] { return cache.evictable_bytes(); });
  memory.SetImmovableCallback([this] { return cache.immovable(); });
}

std::string ConfigureSim(const SimOptions& options) {
  const std::string wrong = Check(options);
  if (!wrong.empty()) return wrong;
  SimMachine& machine = Machine();
  std::lock_guard<std::mutex> lock(machine.mutex);
  if (!machine.units.empty()) {
    const SimOptions& had = machine.options;
    if (had.count == options.count && had.link == options.link &&
        had.memory_bytes == options.memory_bytes) {
      return "";
    }
    return absl::StrCat("The simulated devices are configured already: ",
                        Describe(had), ". Received: ", Describe(options),
                        ". They are made once in a process; start another one "
                        "for other devices.");
  }
  if (machine.started) {
    return "TensorFlow has made its devices, so none can be added. Call "
           "sn_tf.sim.configure() right after importing sn_tf, before "
           "anything that makes a tensor or a model or lists devices.";
  }
  std::string error = RegisterSimKernels();
  if (!error.empty()) return error;
  machine.options = options;
  for (int i = 0; i < options.count; ++i) {
    machine.units.push_back(std::make_unique<SimUnit>(
        i, options.memory_bytes, *ParseLinkModel(options.link)));
    const std::string name = absl::StrCat(kSimDeviceType, ":", i);
    AddArena(name, &machine.units[i]->memory);
    AddCache(name, &machine.units[i]->cache);
  }
  return "";
}

int SimUnitCount() {
  SimMachine& machine = Machine();
  std::lock_guard<std::mutex> lock(machine.mutex);
  return static_cast<int>(machine.units.size());
}

SimUnit* FindSimUnit(int index) {
  SimMachine& machine = Machine();
  std::lock_guard<std::mutex> lock(machine.mutex);
  const bool known =
      index >= 0 && index < static_cast<int>(machine.units.size());
  return known ? machine.units[index].get() : nullptr;
}

SimUnit* FindSimUnit(std::string_view device) {
  for (int i = 0; i < SimUnitCount(); ++i) {
    if (device == absl::StrCat(kSimDeviceType, ":", i)) return FindSimUnit(i);
  }
  return nullptr;
}

ArenaAllocator* SimPinnedMemory() {
  static auto* const memory = new ArenaAllocator(
      "sim_host_bfc",
      std::max(2 * AddressRange::PhysicalMemoryBytes(), int64_t{64} << 30),
      tsl::AllocatorMemoryType::kHostPinned);
  return memory;
}

void MarkTensorFlowStarted() {
  SimMachine& machine = Machine();
  std::lock_guard<std::mutex> lock(machine.mutex);
  machine.started = true;
}

}  // namespace sn_tf
