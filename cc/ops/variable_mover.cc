// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/variable_mover.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/allocator/arenas.h"
#include "cc/ops/outside_buffer.h"
#include "cc/pool/stall_meter.h"
#include "tensorflow/core/common_runtime/dma_helper.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/platform/env.h"

namespace sn_tf {
namespace {

using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::Var;

constexpr int64_t kNeededAt = 0;  // At once.

// What has been moved out, by device. Variables end without telling.
struct Known {
  struct Entry {
    std::string device;
    const Var* address;  // To know it again; may be of one that is gone.
    tensorflow::core::WeakPtr<Var> variable;
  };
  std::mutex mutex;
  std::vector<Entry> entries;
};

Known& KnownVariables() {
  static auto* const known = new Known();
  return *known;
}

void Note(const std::string& device, Var* variable) {
  Known& known = KnownVariables();
  const std::lock_guard<std::mutex> lock(known.mutex);
  const auto gone = [variable](const Known::Entry& entry) {
    return entry.address == variable || entry.variable.GetNewRef() == nullptr;
  };
  known.entries.erase(
      std::remove_if(known.entries.begin(), known.entries.end(), gone),
      known.entries.end());
  known.entries.push_back(
      {device, variable, tensorflow::core::WeakPtr<Var>(variable)});
}

bool IsSameMemory(const Tensor& a, const Tensor& b) {
  return tensorflow::DMAHelper::buffer(const_cast<Tensor*>(&a)) ==
             tensorflow::DMAHelper::buffer(const_cast<Tensor*>(&b)) &&
         a.dtype() == b.dtype() && a.shape() == b.shape();
}

// Puts `now` in the place of `before` if that is what the variable holds still;
// `*now` is then what it held, for the caller to let go of.
void Exchange(Var* variable, const Tensor& before, Tensor* now) {
  if (!variable->is_initialized || variable->copy_on_read_mode.load() ||
      !IsSameMemory(*variable->tensor(), before)) {
    return;
  }
  std::swap(*variable->tensor(), *now);
}

// Runs `act`, then `done`, with the variable's lock held for `act`. Not on this
// thread where that would have to wait: who holds the lock may wait for memory,
// and so for the thread of a transfer, which this may be.
void WithLock(Var* variable, std::function<void()> act,
              std::function<void()> done) {
  if (variable->mu()->try_lock()) {
    act();
    variable->mu()->unlock();
    done();
    return;
  }
  tensorflow::Env::Default()->SchedClosure(
      [variable, act = std::move(act), done = std::move(done)] {
        {
          const tensorflow::mutex_lock lock(*variable->mu());
          act();
        }
        done();
      });
}

// One variable on its way.
struct Journey {
  VariableRef variable;
  Tensor before;
  Tensor now;
  std::function<void()> done;

  // Exchanges, lets go of everything, and tells.
  static void End(std::shared_ptr<Journey> journey) {
    Var* const variable = journey->variable.get();
    Journey* const self = journey.get();
    WithLock(
        variable,
        [self] { Exchange(self->variable.get(), self->before, &self->now); },
        [journey = std::move(journey)]() mutable {
          std::function<void()> done = std::move(journey->done);
          journey->before = Tensor();
          journey->now = Tensor();
          journey->variable.reset();
          journey.reset();
          done();
        });
  }
};

// What the variable holds; nothing where that may not be exchanged.
std::optional<Tensor> Held(Var* variable) {
  const tensorflow::tf_shared_lock lock(*variable->mu());
  const Tensor& tensor = *variable->tensor();
  if (!variable->is_initialized || variable->copy_on_read_mode.load() ||
      !tensorflow::DataTypeCanUseMemcpy(tensor.dtype()) ||
      tensor.TotalBytes() == 0) {
    return std::nullopt;
  }
  return tensor;
}

}  // namespace

std::string ManagedNameOf(const OpKernelContext& context) {
  const auto& name =
      static_cast<tensorflow::Device*>(context.device())->parsed_name();
  return absl::StrCat(name.type, ":", name.id);
}

void MoveVariableOut(OpKernelContext* context, VariableRef variable,
                     std::shared_ptr<TensorMover> mover,
                     std::function<void()> done) {
  std::optional<Tensor> held = Held(variable.get());
  if (!held.has_value() || OutsideBuffer::Of(*held) != nullptr) {
    held.reset();
    variable.reset();
    done();
    return;
  }
  auto journey = std::make_shared<Journey>();
  journey->variable = std::move(variable);
  journey->before = *std::move(held);
  journey->done = std::move(done);
  const std::string device = ManagedNameOf(*context);
  StallMeter* const stalls = mover->stalls();
  if (stalls != nullptr) stalls->Begin();
  const Tensor& source = journey->before;
  // Until Out has returned, whatever becomes of the buffer.
  const std::shared_ptr<TensorMover> moves = mover;
  moves->Out(source, kNeededAt,
             [journey = std::move(journey), mover = std::move(mover), stalls,
              device](const absl::Status& status,
                      std::shared_ptr<TensorStorage> storage) mutable {
               if (stalls != nullptr) stalls->End();
               journey->now = journey->before;
               if (status.ok()) {
                 auto outside =
                     OutsideBuffer::Make(journey->before, std::move(storage),
                                         std::move(mover), FindArena(device));
                 if (outside.has_value()) {
                   journey->now = *std::move(outside);
                   Note(device, journey->variable.get());
                 }
               }
               Journey::End(std::move(journey));
             });
}

void MoveVariableIn(OpKernelContext* context, VariableRef variable,
                    bool may_wait, std::function<void()> done) {
  std::optional<Tensor> held = Held(variable.get());
  OutsideBuffer* const outside =
      held.has_value() ? OutsideBuffer::Of(*held) : nullptr;
  Tensor inside;
  tensorflow::AllocationAttributes attributes;
  attributes.retry_on_failure = may_wait;
  bool has_memory =
      outside != nullptr &&
      context
          ->allocate_temp(held->dtype(), held->shape(), &inside,
                          tensorflow::AllocatorAttributes(), attributes)
          .ok();
  // What was refused memory, and computes on in vain, gets some that keeps
  // nothing: no place for a variable.
  ArenaAllocator* const arena = FindArena(ManagedNameOf(*context));
  if (has_memory && arena != nullptr &&
      arena->sink()->SizeOf(inside.data()) > 0) {
    has_memory = false;
  }
  if (!has_memory) {
    inside = Tensor();
    held.reset();
    variable.reset();
    done();
    return;
  }
  auto journey = std::make_shared<Journey>();
  journey->variable = std::move(variable);
  journey->before = *std::move(held);
  journey->now = std::move(inside);
  journey->done = std::move(done);
  Tensor* const to = &journey->now;
  outside->CopyTo(
      to, [journey = std::move(journey)](const absl::Status& status) mutable {
        if (!status.ok()) journey->now = journey->before;
        Journey::End(std::move(journey));
      });
}

std::vector<VariableRef> VariablesOutOf(const std::string& device) {
  std::vector<VariableRef> variables;
  {
    Known& known = KnownVariables();
    const std::lock_guard<std::mutex> lock(known.mutex);
    for (const Known::Entry& entry : known.entries) {
      VariableRef variable = entry.variable.GetNewRef();
      if (variable == nullptr || entry.device != device) continue;
      variables.push_back(std::move(variable));
    }
  }
  const auto is_in = [](const VariableRef& variable) {
    const std::optional<Tensor> held = Held(variable.get());
    return !held.has_value() || OutsideBuffer::Of(*held) == nullptr;
  };
  variables.erase(std::remove_if(variables.begin(), variables.end(), is_in),
                  variables.end());
  return variables;
}

}  // namespace sn_tf
