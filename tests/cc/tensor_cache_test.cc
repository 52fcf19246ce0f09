// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/tensor_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/pool/transfer_progress.h"

namespace sn_tf {
namespace {

using Eviction = Evictable::Eviction;

class TensorCacheTest : public testing::Test {
 protected:
  // Logs its evictions, which end as the test says.
  class FakeBuffer : public Evictable {
   public:
    FakeBuffer(TensorCacheTest* test, std::string name, int64_t bytes)
        : test_(test), name_(std::move(name)), bytes_(bytes) {}
    ~FakeBuffer() override { test_->cache_.Erase(this); }

    int64_t bytes() const override { return bytes_; }
    bool IsLocked() const override {
      if (on_look) on_look();
      return locked;
    }
    Eviction Evict() override {
      test_->evicted_.push_back(name_);
      if (on_evict) on_evict();
      if (eviction == Eviction::kLeaving) test_->leaving_.Begins(bytes_);
      return eviction;
    }

    bool locked = false;
    Eviction eviction = Eviction::kLeaving;
    std::function<void()> on_look;
    std::function<void()> on_evict;

   private:
    TensorCacheTest* const test_;
    const std::string name_;
    const int64_t bytes_;
  };

  std::shared_ptr<FakeBuffer> Insert(const std::string& name, int64_t bytes) {
    auto buffer = std::make_shared<FakeBuffer>(this, name, bytes);
    cache_.Insert(buffer);
    return buffer;
  }

  // Of a caller who has not noticed yet that something has left, and so does
  // not wait.
  bool MakeRoom(int64_t bytes) {
    leaving_.Begins(0);
    leaving_.Ends(0);
    return cache_.MakeRoom(bytes, &seen_);
  }

  using Names = std::vector<std::string>;

  TransferProgress leaving_;
  TensorCache cache_{&leaving_};
  Names evicted_;
  uint64_t seen_ = 0;
};

TEST_F(TensorCacheTest, TheLeastRecentlyUsedGoesFirst) {
  const auto a = Insert("a", 10);
  const auto b = Insert("b", 10);
  const auto c = Insert("c", 10);
  cache_.Touch(a.get());
  EXPECT_TRUE(MakeRoom(10));
  EXPECT_EQ(evicted_, Names({"b"}));
  // What has been used again since is not first.
  cache_.Insert(c);
  EXPECT_TRUE(MakeRoom(20));
  EXPECT_EQ(evicted_, Names({"b", "a"}));
}

TEST_F(TensorCacheTest, JustEnoughIsEvicted) {
  const auto a = Insert("a", 10);
  const auto b = Insert("b", 20);
  const auto c = Insert("c", 30);
  EXPECT_TRUE(MakeRoom(30));
  EXPECT_EQ(evicted_, Names({"a", "b"}));
  EXPECT_EQ(cache_.stats().evictions, 2);
  EXPECT_EQ(cache_.stats().cached_bytes, 30);
}

TEST_F(TensorCacheTest, WhatIsUnderWayCounts) {
  const auto a = Insert("a", 10);
  const auto b = Insert("b", 10);
  leaving_.Begins(15);
  EXPECT_TRUE(MakeRoom(15));
  EXPECT_EQ(evicted_, Names());
  EXPECT_TRUE(MakeRoom(16));
  EXPECT_EQ(evicted_, Names({"a"}));
  // Now 25 are.
  EXPECT_TRUE(MakeRoom(25));
  EXPECT_EQ(evicted_, Names({"a"}));
}

TEST_F(TensorCacheTest, LockedBuffersArePassedOver) {
  const auto a = Insert("a", 10);
  const auto b = Insert("b", 10);
  a->locked = true;
  EXPECT_TRUE(MakeRoom(10));
  EXPECT_EQ(evicted_, Names({"b"}));
  a->locked = false;
  EXPECT_TRUE(MakeRoom(20));
  EXPECT_EQ(evicted_, Names({"b", "a"}));
}

TEST_F(TensorCacheTest, ForOneThatStaysTheNextOneGoes) {
  const auto a = Insert("a", 10);
  const auto b = Insert("b", 10);
  const auto c = Insert("c", 10);
  a->eviction = Eviction::kFailed;
  EXPECT_TRUE(MakeRoom(10));
  EXPECT_EQ(evicted_, Names({"a", "b"}));
  EXPECT_EQ(cache_.stats().evictions, 1);
  // It is not asked again before it is inserted again.
  EXPECT_TRUE(MakeRoom(20));
  EXPECT_EQ(evicted_, Names({"a", "b", "c"}));
  cache_.Insert(a);
  EXPECT_TRUE(MakeRoom(30));
  EXPECT_EQ(evicted_, Names({"a", "b", "c", "a"}));
}

TEST_F(TensorCacheTest, WhatATierHasACopyOfMakesRoomAtOnce) {
  const auto a = Insert("a", 10);
  const auto b = Insert("b", 10);
  a->eviction = Eviction::kFreed;
  EXPECT_TRUE(cache_.MakeRoom(10, &seen_));
  EXPECT_EQ(evicted_, Names({"a"}));
  EXPECT_EQ(cache_.stats().evictions, 1);
  EXPECT_EQ(leaving_.pending_bytes(), 0);
}

TEST_F(TensorCacheTest, WithNothingLeftThereIsNoRoom) {
  EXPECT_FALSE(cache_.MakeRoom(10, &seen_));
  const auto locked = Insert("locked", 10);
  locked->locked = true;
  EXPECT_FALSE(cache_.MakeRoom(10, &seen_));
  const auto stays = Insert("stays", 10);
  stays->eviction = Eviction::kFailed;
  EXPECT_FALSE(cache_.MakeRoom(10, &seen_));
  EXPECT_EQ(evicted_, Names({"stays"}));
}

TEST_F(TensorCacheTest, RoomIsMadeWhenATransferEnds) {
  const auto a = Insert("a", 10);
  std::promise<void> began;
  a->on_evict = [&began] { began.set_value(); };
  std::future<bool> room = std::async(std::launch::async, [this] {
    uint64_t seen = 0;
    return cache_.MakeRoom(10, &seen);
  });
  began.get_future().wait();
  EXPECT_EQ(room.wait_for(std::chrono::milliseconds(20)),
            std::future_status::timeout);
  leaving_.Ends(10);
  EXPECT_TRUE(room.get());
}

TEST_F(TensorCacheTest, WhatIsErasedStays) {
  const auto a = Insert("a", 10);
  cache_.Erase(a.get());
  cache_.Touch(a.get());
  EXPECT_FALSE(cache_.MakeRoom(10, &seen_));
  EXPECT_EQ(evicted_, Names());
  EXPECT_EQ(cache_.stats().cached_bytes, 0);
}

TEST_F(TensorCacheTest, NoBufferIsKeptAlive) {
  std::shared_ptr<FakeBuffer> a = Insert("a", 10);
  const std::weak_ptr<FakeBuffer> weak = a;
  a.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(cache_.stats().cached_bytes, 0);
  EXPECT_FALSE(cache_.MakeRoom(10, &seen_));
}

// The cache then holds the last reference, and the buffer erases itself.
TEST_F(TensorCacheTest, ABufferMayEndWhileTheCacheLooksAtIt) {
  std::shared_ptr<FakeBuffer> a = Insert("a", 10);
  a->locked = true;
  a->on_look = [&a] { a.reset(); };
  EXPECT_FALSE(cache_.MakeRoom(10, &seen_));
  EXPECT_EQ(cache_.stats().cached_bytes, 0);
  std::shared_ptr<FakeBuffer> b = Insert("b", 10);
  b->on_look = [&b] { b.reset(); };
  cache_.immovable();
  EXPECT_EQ(cache_.stats().cached_bytes, 0);
  std::shared_ptr<FakeBuffer> c = Insert("c", 10);
  c->on_evict = [&c] { c.reset(); };
  EXPECT_TRUE(MakeRoom(10));
  EXPECT_EQ(evicted_, Names({"c"}));
}

TEST_F(TensorCacheTest, ABufferMayCallTheCacheWhileItIsEvicted) {
  const auto a = Insert("a", 10);
  const auto b = Insert("b", 10);
  a->on_evict = [&] {
    EXPECT_EQ(cache_.stats().cached_bytes, 10);
    cache_.Touch(b.get());
    cache_.Refused(a.get(), "full");
  };
  a->eviction = Eviction::kFailed;
  EXPECT_TRUE(MakeRoom(10));
  EXPECT_EQ(evicted_, Names({"a", "b"}));
}

TEST_F(TensorCacheTest, ImmovableIsWhatIsInUseAndWhatNoTierTook) {
  const auto a = Insert("a", 10);
  const auto b = Insert("b", 20);
  const auto c = Insert("c", 40);
  EXPECT_EQ(cache_.immovable().locked_buffers, 0);
  a->locked = true;
  b->eviction = Eviction::kFailed;
  b->on_evict = [&] { cache_.Refused(b.get(), "The tier is full."); };
  EXPECT_TRUE(MakeRoom(20));
  const ImmovableMemory immovable = cache_.immovable();
  EXPECT_EQ(immovable.locked_buffers, 1);
  EXPECT_EQ(immovable.locked_bytes, 10);
  EXPECT_EQ(immovable.refused_buffers, 1);
  EXPECT_EQ(immovable.refused_bytes, 20);
  EXPECT_EQ(immovable.reason, "The tier is full.");
}

TEST_F(TensorCacheTest, ARefusalIsForgottenWithItsBuffer) {
  const auto a = Insert("a", 10);
  std::shared_ptr<FakeBuffer> b = Insert("b", 20);
  cache_.Refused(a.get(), "first");
  cache_.Refused(b.get(), "second");
  EXPECT_EQ(cache_.immovable().refused_bytes, 30);
  EXPECT_EQ(cache_.immovable().reason, "second");
  b.reset();
  EXPECT_EQ(cache_.immovable().refused_bytes, 10);
  // Or when it may be evicted once more.
  cache_.Insert(a);
  EXPECT_EQ(cache_.immovable().refused_buffers, 0);
  EXPECT_EQ(cache_.immovable().reason, "");
}

TEST_F(TensorCacheTest, HitsAndMissesAreCounted) {
  cache_.CountHit();
  cache_.CountHit();
  cache_.CountMiss();
  EXPECT_EQ(cache_.stats().hits, 2);
  EXPECT_EQ(cache_.stats().misses, 1);
}

TEST_F(TensorCacheTest, AnInsertionCountsItsBytesOnce) {
  const auto a = Insert("a", 10);
  cache_.Insert(a);
  EXPECT_EQ(cache_.stats().cached_bytes, 10);
}

// A buffer whose memory is free as soon as it is evicted.
class LooseBuffer : public Evictable {
 public:
  LooseBuffer(TensorCache* cache, std::atomic<int>* evicted)
      : cache_(cache), evicted_(evicted) {}
  ~LooseBuffer() override { cache_->Erase(this); }

  int64_t bytes() const override { return 8; }
  bool IsLocked() const override { return false; }
  Eviction Evict() override {
    ++*evicted_;
    return Eviction::kFreed;
  }

 private:
  TensorCache* const cache_;
  std::atomic<int>* const evicted_;
};

TEST(TensorCacheThreadsTest, ManyThreadsUseItAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kBuffers = 300;
  TransferProgress leaving;
  TensorCache cache(&leaving);
  std::atomic<int> evicted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      uint64_t seen = 0;
      std::vector<std::shared_ptr<LooseBuffer>> buffers;
      for (int i = 0; i < kBuffers; ++i) {
        buffers.push_back(std::make_shared<LooseBuffer>(&cache, &evicted));
        cache.Insert(buffers.back());
        cache.Touch(buffers[i / 2].get());
        if (i % 3 == 0) cache.MakeRoom(20, &seen);
        if (i % 5 == 0) cache.Refused(buffers[i / 3].get(), "full");
        if (i % 7 == 0) buffers[i / 2] = buffers[i];
        if (i % 11 == 0) cache.immovable();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(evicted, 0);
  EXPECT_EQ(cache.stats().evictions, evicted);
  EXPECT_EQ(cache.stats().cached_bytes, 0);
  EXPECT_EQ(cache.immovable().refused_buffers, 0);
}

}  // namespace
}  // namespace sn_tf
