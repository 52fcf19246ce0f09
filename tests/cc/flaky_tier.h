// SPDX-License-Identifier: Apache-2.0
//
// Faults at random, for stress tests.
#ifndef SN_TF_TESTS_CC_FLAKY_TIER_H_
#define SN_TF_TESTS_CC_FLAKY_TIER_H_

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

#include "cc/pool/file_io.h"
#include "cc/pool/tier.h"

namespace sn_tf {

// Whether something goes wrong, once in so many times. Thread-safe; the same
// calls from one thread give the same answers.
class Luck {
 public:
  explicit Luck(uint32_t seed) : random_(seed + 1) {}

  // Never where `times` is 0.
  bool RunsOut(uint32_t times) {
    if (times == 0) return false;
    std::lock_guard<std::mutex> lock(mutex_);
    return (random_() >> 4) % times == 0;
  }

 private:
  std::mutex mutex_;
  std::minstd_rand random_;
};

// Of calls, once in so many times; 0: never.
struct FaultRates {
  uint32_t fails = 0;     // The call fails.
  uint32_t full = 0;      // There is no room.
  uint32_t corrupts = 0;  // A read goes well, with a wrong bit.
};

// Another tier, with faults.
class FlakyTier : public Tier {
 public:
  FlakyTier(std::unique_ptr<Tier> tier, const FaultRates& rates, uint32_t seed)
      : tier_(std::move(tier)), rates_(rates), luck_(seed) {}

  const char* name() const override { return tier_->name(); }
  std::unique_ptr<TierWrite> BeginWrite(const void* source, int64_t bytes,
                                        TierError* error) override {
    if (Fails(error)) return nullptr;
    std::unique_ptr<TierWrite> write = tier_->BeginWrite(source, bytes, error);
    if (write == nullptr) return nullptr;
    return std::make_unique<Write>(this, std::move(write));
  }
  std::unique_ptr<TierCopy> BeginRead(const StoredBuffer& stored,
                                      void* destination) override {
    auto* const first =
        stored.bytes() > 0 ? static_cast<char*>(destination) : nullptr;
    return std::make_unique<Read>(this, tier_->BeginRead(stored, destination),
                                  first);
  }
  TierUsage usage() const override { return tier_->usage(); }
  void ReleaseFreeSpace() override { tier_->ReleaseFreeSpace(); }

 private:
  class Write : public TierWrite {
   public:
    Write(FlakyTier* tier, std::unique_ptr<TierWrite> write)
        : tier_(tier), write_(std::move(write)) {}
    Progress CopyChunk(TierError* error) override {
      if (tier_->Fails(error)) return Progress::kFailed;
      return write_->CopyChunk(error);
    }
    StoredBuffer Take() override { return write_->Take(); }

   private:
    FlakyTier* const tier_;
    const std::unique_ptr<TierWrite> write_;
  };

  class Read : public TierCopy {
   public:
    Read(FlakyTier* tier, std::unique_ptr<TierCopy> read, char* first)
        : tier_(tier), read_(std::move(read)), first_(first) {}
    Progress CopyChunk(TierError* error) override {
      if (tier_->luck_.RunsOut(tier_->rates_.fails)) {
        *error = {TierError::Kind::kFailed, "A fault at random."};
        return Progress::kFailed;
      }
      const Progress progress = read_->CopyChunk(error);
      const bool done = progress == Progress::kDone && first_ != nullptr;
      if (done && tier_->luck_.RunsOut(tier_->rates_.corrupts)) *first_ ^= 1;
      return progress;
    }

   private:
    FlakyTier* const tier_;
    const std::unique_ptr<TierCopy> read_;
    char* const first_;  // Byte of the destination, if there is one.
  };

  // What it gives out is freed by the other tier.
  void Free(int64_t /*location*/) override {}

  bool Fails(TierError* error) {
    if (luck_.RunsOut(rates_.full)) {
      *error = {TierError::Kind::kFull, "Full at random."};
    } else if (luck_.RunsOut(rates_.fails)) {
      *error = {TierError::Kind::kFailed, "A fault at random."};
    } else {
      return false;
    }
    return true;
  }

  const std::unique_ptr<Tier> tier_;
  const FaultRates rates_;
  Luck luck_;
};

// The system's calls, with faults.
class FlakyFileIo : public FileIo {
 public:
  FlakyFileIo(const FaultRates& rates, uint32_t seed)
      : rates_(rates), luck_(seed) {}

  int64_t Read(int file, void* destination, int64_t bytes,
               int64_t offset) override {
    if (luck_.RunsOut(rates_.fails)) return Fail(EIO);
    if (luck_.RunsOut(rates_.fails)) return Fail(EINTR);
    if (luck_.RunsOut(rates_.fails)) bytes = (bytes + 1) / 2;
    const int64_t read = FileIo::Read(file, destination, bytes, offset);
    if (read > 0 && luck_.RunsOut(rates_.corrupts)) {
      static_cast<char*>(destination)[0] ^= 1;
    }
    return read;
  }
  int64_t Write(int file, const void* source, int64_t bytes,
                int64_t offset) override {
    if (luck_.RunsOut(rates_.fails)) return Fail(EIO);
    if (luck_.RunsOut(rates_.full)) return Fail(ENOSPC);
    if (luck_.RunsOut(rates_.fails)) return Fail(EINTR);
    return FileIo::Write(file, source, bytes, offset);
  }

 private:
  static int64_t Fail(int error) {
    errno = error;
    return -1;
  }

  const FaultRates rates_;
  Luck luck_;
};

}  // namespace sn_tf

#endif  // SN_TF_TESTS_CC_FLAKY_TIER_H_
