// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/paced_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "cc/pool/link_model.h"
#include "cc/pool/stall_clock.h"

namespace sn_tf {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class PacedQueueTest : public testing::Test {
 protected:
  // Copies `bytes` bytes of value `value` and returns when that is done.
  std::future<void> Copy(PacedQueue* queue, std::vector<char>* to,
                         const std::vector<char>& from,
                         HostMemory memory = HostMemory::kPinned) {
    auto done = std::make_shared<std::promise<void>>();
    queue->Copy(to->data(), from.data(), static_cast<int64_t>(from.size()),
                memory, [done] { done->set_value(); });
    return done->get_future();
  }

  StallClock stalls_;
};

TEST_F(PacedQueueTest, NoCopyEndsBeforeTheModelLetsIt) {
  PacedQueue queue("test", {"test", 1e6, 5e5, 0.01}, &stalls_);
  const std::vector<char> from(20'000, 7);
  std::vector<char> to(from.size());
  const Clock::time_point start = Clock::now();
  Copy(&queue, &to, from).wait();
  EXPECT_GE(SecondsSince(start), 0.03);
  EXPECT_EQ(to, from);
  Copy(&queue, &to, from, HostMemory::kPageable).wait();
  EXPECT_GE(SecondsSince(start), 0.08);
  EXPECT_EQ(queue.stats().bytes, 40'000);
  EXPECT_GE(queue.stats().seconds, 0.08 - 1e-9);
  EXPECT_NEAR(queue.modelled_seconds(), 0.08, 1e-8);
}

TEST_F(PacedQueueTest, CopiesOfADirectionFollowOneAnother) {
  PacedQueue queue("test", {"test", 1e6, 1e6, 0}, &stalls_);
  const std::vector<char> from(10'000, 7);
  std::vector<char> to(from.size());
  const Clock::time_point start = Clock::now();
  std::vector<std::future<void>> copies;
  for (int i = 0; i < 5; ++i) copies.push_back(Copy(&queue, &to, from));
  for (auto& copy : copies) copy.wait();
  EXPECT_GE(SecondsSince(start), 0.05);
}

TEST_F(PacedQueueTest, TheDirectionsOfALinkDoNotWaitForEachOther) {
  PacedLink link("test", {"test", 1e6, 1e6, 0});
  const std::vector<char> large(500'000, 7);
  const std::vector<char> small(1'000, 7);
  std::vector<char> to_device(large.size());
  std::vector<char> to_host(small.size());
  std::future<void> slow = Copy(&link.to_device, &to_device, large);
  Copy(&link.to_host, &to_host, small).wait();
  EXPECT_EQ(slow.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
  slow.wait();
  EXPECT_EQ(link.to_device.stats().bytes, 500'000);
  EXPECT_EQ(link.to_host.stats().bytes, 1'000);
  // Nothing was computed, and there was a copy all the time.
  EXPECT_GE(link.stalls.seconds(), 0.5);
}

TEST_F(PacedQueueTest, CopiesBehindComputationAreNoStall) {
  PacedLink link("test", {"test", 1e6, 1e6, 0});
  const std::vector<char> from(10'000, 7);
  std::vector<char> to(from.size());
  const StallClock::Computing computing(&link.stalls);
  Copy(&link.to_device, &to, from).wait();
  EXPECT_EQ(link.stalls.seconds(), 0);
}

}  // namespace
}  // namespace sn_tf
