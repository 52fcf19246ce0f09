// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/file_tier.h"

#include <algorithm>
#include <utility>

#include "cc/core/bytes.h"
#include "cc/pool/checksum.h"
#include "cc/pool/fault_injection.h"

namespace sn_tf {
namespace {

// The part of a buffer that the next chunk is.
int64_t NextChunk(int64_t bytes, int64_t done) {
  return std::min(StagedFile::kChunkBytes, bytes - done);
}

}  // namespace

class FileTier::Write : public TierWrite {
 public:
  Write(FileTier* tier, SharedArena::Block block, const void* source,
        int64_t bytes)
      : tier_(tier),
        block_(std::move(block)),
        source_(static_cast<const char*>(source)),
        bytes_(bytes) {}

  Progress CopyChunk(TierError* error) override {
    const int64_t chunk = NextChunk(bytes_, done_);
    checksum_.Add(source_ + done_, chunk);
    *error =
        tier_->file_.Write(block_.offset() + done_, source_ + done_, chunk);
    if (!error->ok()) return Progress::kFailed;
    done_ += chunk;
    return done_ == bytes_ ? Progress::kDone : Progress::kMore;
  }

  StoredBuffer Take() override {
    const int64_t location = tier_->records_.Add(
        Record{std::move(block_), bytes_, checksum_.Digest()});
    return StoredBuffer(tier_, location, bytes_);
  }

 private:
  FileTier* const tier_;
  SharedArena::Block block_;
  const char* const source_;
  const int64_t bytes_;
  int64_t done_ = 0;
  Checksum checksum_;
};

class FileTier::Read : public TierCopy {
 public:
  Read(FileTier* tier, const Record& record, void* destination)
      : tier_(tier),
        record_(record),
        destination_(static_cast<char*>(destination)) {}

  Progress CopyChunk(TierError* error) override {
    const int64_t chunk = NextChunk(record_.bytes, done_);
    char* const to = destination_ + done_;
    *error = tier_->file_.Read(record_.block.offset() + done_, to, chunk);
    if (!error->ok()) return Progress::kFailed;
    checksum_.Add(to, chunk);
    done_ += chunk;
    if (done_ < record_.bytes) return Progress::kMore;
    if (checksum_.Digest() == record_.checksum) return Progress::kDone;
    *error = Corrupt();
    return Progress::kFailed;
  }

 private:
  TierError Corrupt() const {
    return TierError(
        TierError::Kind::kCorrupt,
        "A buffer of " + FormatBytes(record_.bytes) +
            " came back from the swap file in '" + tier_->file().folder() +
            "' other than it was written (its checksum differs). Do not trust "
            "that disk: give a folder on another one (swap_dir), or train "
            "without the file tier.");
  }

  FileTier* const tier_;
  const Record& record_;
  char* const destination_;
  int64_t done_ = 0;
  Checksum checksum_;
};

std::unique_ptr<FileTier> FileTier::Create(const std::string& folder,
                                           int64_t limit_bytes,
                                           TierError* error) {
  std::unique_ptr<SwapFile> file =
      SwapFile::Create(folder, std::make_unique<FileIo>(), error);
  if (file == nullptr) return nullptr;
  return std::make_unique<FileTier>(std::move(file), limit_bytes);
}

FileTier::FileTier(std::unique_ptr<SwapFile> file, int64_t limit_bytes)
    : file_(std::move(file)),
      arena_(limit_bytes > 0 ? limit_bytes : this->file().available_bytes(),
             SwapFile::kBlockBytes) {}

TierError FileTier::ObeyFaultVariable() {
  std::string error;
  std::unique_ptr<FileIo> io = FileIoFromEnvironment(&error);
  if (io == nullptr) return TierError(TierError::Kind::kFailed, error);
  file_.file().SetIo(std::move(io));
  return TierError();
}

std::unique_ptr<TierWrite> FileTier::BeginWrite(const void* source,
                                                int64_t bytes,
                                                TierError* error) {
  SharedArena::Block block = arena_.Allocate(bytes);
  if (!block) {
    *error = Refusal(bytes);
    return nullptr;
  }
  *error = file_.file().GrowTo(block.offset() + bytes);
  if (!error->ok()) return nullptr;
  return std::make_unique<Write>(this, std::move(block), source, bytes);
}

std::unique_ptr<TierCopy> FileTier::BeginRead(const StoredBuffer& stored,
                                              void* destination) {
  return std::make_unique<Read>(this, records_.Get(stored.location()),
                                destination);
}

std::unique_ptr<StoredView> FileTier::View(const StoredBuffer& stored) {
  const Record& record = records_.Get(stored.location());
  return file_.file().Map(record.block.offset(), record.bytes);
}

TierUsage FileTier::usage() const {
  TierUsage usage;
  usage.limit_bytes = arena_.capacity_bytes();
  usage.taken_bytes = arena_.in_use_bytes();
  usage.stored_bytes = records_.stored_bytes();
  return usage;
}

void FileTier::ReleaseFreeSpace() {
  arena_.ReleaseFree(SwapFile::kBlockBytes,
                     [this](int64_t offset, int64_t bytes) {
                       file_.file().PunchHole(offset, bytes);
                     });
}

TierError FileTier::Refusal(int64_t bytes) const {
  return TierError(
      TierError::Kind::kFull,
      "The file tier in '" + file().folder() +
          "' has no room for a buffer of " + FormatBytes(bytes) + ": " +
          FormatBytes(arena_.in_use_bytes()) + " of its " +
          FormatBytes(arena_.capacity_bytes()) +
          " are in use, and the largest free piece has " +
          FormatBytes(arena_.largest_free_bytes()) +
          ". Raise its limit (file:SIZE), give a folder with more room "
          "(swap_dir), or raise the budget, so that less is swapped out.");
}

}  // namespace sn_tf
