// SPDX-License-Identifier: Apache-2.0
//
// How long an accelerator stood still because of its link: copies were under
// way, and it computed nothing. Copies that run behind computation, however
// long, add nothing to it.
#ifndef SN_TF_CC_POOL_STALL_CLOCK_H_
#define SN_TF_CC_POOL_STALL_CLOCK_H_

#include <chrono>
#include <mutex>

namespace sn_tf {

// Thread-safe; one lock, and the time is read only where a stall begins or
// ends.
class StallClock {
 public:
  // While one lives, its thread computes. A computation may start another one
  // on its thread: sending a value runs whoever waits for it.
  class Computing {
   public:
    explicit Computing(StallClock* clock);
    ~Computing();

    Computing(const Computing&) = delete;
    Computing& operator=(const Computing&) = delete;

   private:
    StallClock* const clock_;
    StallClock* const outer_;  // Of which the thread computed before.
  };

  // While one lives, its thread waits for a copy; if it is computing it is not
  // doing so meanwhile.
  class Waiting {
   public:
    explicit Waiting(StallClock* clock);
    ~Waiting();

    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    StallClock* const clock_;  // nullptr if the thread is not computing.
  };

  // A copy is under way from when it is asked for until it has ended.
  void CopyBegins() { Add(&copying_, 1); }
  void CopyEnds() { Add(&copying_, -1); }

  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  void Add(int* count, int change);
  bool stalled() const { return copying_ > 0 && computing_ == 0; }

  mutable std::mutex mutex_;
  int computing_ = 0;          // Threads.
  int copying_ = 0;            // Copies.
  Clock::time_point since_{};  // When the present stall began.
  Clock::duration total_{};    // Of those that have ended.
};

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_STALL_CLOCK_H_
