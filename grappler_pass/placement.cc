// SPDX-License-Identifier: Apache-2.0
#include "grappler_pass/placement.h"

#include "absl/strings/str_cat.h"
#include "cc/ops/names.h"
#include "tensorflow/core/framework/memory_types.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace sn_tf {
namespace {

using tensorflow::DeviceNameUtils;
using tensorflow::MemoryTypeVector;

std::vector<bool> InDeviceMemory(const MemoryTypeVector& types) {
  std::vector<bool> in_device;
  for (const tensorflow::MemoryType type : types) {
    in_device.push_back(type == tensorflow::DEVICE_MEMORY);
  }
  return in_device;
}

// False where `device` names none: the node is not placed yet.
bool ParseDevice(const std::string& device, DeviceNameUtils::ParsedName* name) {
  if (!DeviceNameUtils::ParseFullOrLocalName(device, name) || !name->has_type) {
    return false;
  }
  if (name->type == tensorflow::DEVICE_CPU && name->has_id &&
      name->id >= kFirstSimAlias) {
    name->type = kSimDeviceType;
    name->id -= kFirstSimAlias;
  }
  return true;
}

}  // namespace

std::string ManagedDevice(const std::string& device) {
  DeviceNameUtils::ParsedName name;
  if (!ParseDevice(device, &name)) return "";
  // All CPU devices of a process share one arena.
  const int id =
      name.has_id && name.type != tensorflow::DEVICE_CPU ? name.id : 0;
  return absl::StrCat(name.type, ":", id);
}

bool HasCpuKernels(const tensorflow::NodeDef& node) {
  DeviceNameUtils::ParsedName name;
  return !ParseDevice(node.device(), &name) ||
         name.type == tensorflow::DEVICE_CPU || name.type == kSimDeviceType;
}

NodePlacement PlacementOf(const tensorflow::NodeDef& node,
                          const std::string& device) {
  NodePlacement placement;
  DeviceNameUtils::ParsedName name;
  if (!ParseDevice(node.device(), &name)) return placement;
  placement.on_device = device == ManagedDevice(node.device());
  if (!placement.on_device || name.type == tensorflow::DEVICE_CPU) {
    return placement;
  }
  MemoryTypeVector inputs;
  MemoryTypeVector outputs;
  // Where no kernel is known, everything is taken to be on the device.
  if (tensorflow::MemoryTypesForNode(tensorflow::OpRegistry::Global(),
                                     tensorflow::DeviceType(name.type), node,
                                     &inputs, &outputs)
          .ok()) {
    placement.inputs = InDeviceMemory(inputs);
    placement.outputs = InDeviceMemory(outputs);
  }
  return placement;
}

}  // namespace sn_tf
