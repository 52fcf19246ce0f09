// SPDX-License-Identifier: Apache-2.0
#include "cc/ops/observer.h"

#include <map>
#include <mutex>
#include <utility>

namespace sn_tf {
namespace {

struct Registry {
  std::mutex mutex;
  int64_t last_number = 0;
  std::map<int64_t, std::shared_ptr<StepObserver>> observers;
};

// Never destroyed: steps may still run while the process exits.
Registry& GetRegistry() {
  static auto* const registry = new Registry();
  return *registry;
}

}  // namespace

int64_t RegisterObserver(std::shared_ptr<StepObserver> observer) {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const int64_t number = ++registry.last_number;
  registry.observers[number] = std::move(observer);
  return number;
}

void UnregisterObserver(int64_t number) {
  std::shared_ptr<StepObserver> removed;  // Its end may take the lock again.
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.observers.find(number);
  if (found == registry.observers.end()) return;
  removed = std::move(found->second);
  registry.observers.erase(found);
}

std::shared_ptr<StepObserver> FindObserver(int64_t number) {
  Registry& registry = GetRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.observers.find(number);
  return found == registry.observers.end() ? nullptr : found->second;
}

}  // namespace sn_tf
