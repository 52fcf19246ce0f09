// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_POOL_STALL_METER_H_
#define SN_TF_CC_POOL_STALL_METER_H_

#include <chrono>
#include <mutex>

namespace sn_tf {

// How long somebody waited for copies: time in which several do counts once.
// Thread-safe.
class StallMeter {
 public:
  void Begin();
  void End();

  double seconds() const;

  // While one lives, its thread waits.
  class Scope {
   public:
    explicit Scope(StallMeter* meter) : meter_(meter) { meter_->Begin(); }
    ~Scope() { meter_->End(); }

    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StallMeter* const meter_;
  };

 private:
  using Clock = std::chrono::steady_clock;

  mutable std::mutex mutex_;
  int waiting_ = 0;
  Clock::time_point since_{};
  Clock::duration total_{};
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_STALL_METER_H_
