// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/compressed_tier.h"

#include <algorithm>
#include <utility>

#include "cc/core/bytes.h"
#include "cc/pool/stream_copy.h"
#include "cc/pool/zero_packing.h"

namespace sn_tf {
namespace {

// What a piece holds: less than the processor's second cache, since it is read
// twice, and enough that a buffer has few.
constexpr int64_t kPieceBytes = int64_t{1} << 20;

// Packing less off is not worth the time that unpacking takes.
constexpr double kMostPackedShare = 0.9;

int64_t NextPiece(int64_t bytes, int64_t done) {
  return std::min(kPieceBytes, bytes - done);
}

// What `bytes` take that pack to `packed`.
int64_t PieceBytes(int64_t packed, int64_t bytes) {
  const double most = kMostPackedShare * static_cast<double>(bytes);
  return static_cast<double>(packed) < most ? packed : bytes;
}

}  // namespace

class CompressedTier::Write : public TierWrite {
 public:
  Write(CompressedTier* tier, const void* source, int64_t bytes)
      : tier_(tier), source_(static_cast<const char*>(source)), bytes_(bytes) {
    pieces_.reserve(bytes / kPieceBytes + 1);
  }

  Progress CopyChunk(TierError* error) override {
    const char* const from = source_ + done_;
    const int64_t bytes = NextPiece(bytes_, done_);
    if (bytes == 0) return Progress::kDone;
    Piece piece;
    piece.bytes = PieceBytes(PackedBytes(from, bytes), bytes);
    piece.block = tier_->memory_.Allocate(piece.bytes);
    if (!piece.block) {
      // What this buffer has taken is not what fills the tier.
      pieces_.clear();
      *error = tier_->memory_.Refusal(bytes_);
      return Progress::kFailed;
    }
    char* const to = tier_->memory_.At(piece.block);
    if (piece.bytes == bytes) {
      StreamCopy(to, from, bytes);
    } else if (!PackZeros(from, bytes, to, piece.bytes)) {
      *error = Changed();
      return Progress::kFailed;
    }
    pieces_.push_back(std::move(piece));
    done_ += bytes;
    return done_ == bytes_ ? Progress::kDone : Progress::kMore;
  }

  StoredBuffer Take() override {
    const int64_t location =
        tier_->records_.Add(Record{std::move(pieces_), bytes_});
    return StoredBuffer(tier_, location, bytes_);
  }

 private:
  TierError Changed() const {
    return TierError(TierError::Kind::kFailed,
                     "A buffer of " + FormatBytes(bytes_) +
                         " was written to while the compressed tier copied "
                         "it. This is an error of sn_tf; please report it, "
                         "and train without that tier.");
  }

  CompressedTier* const tier_;
  const char* const source_;
  const int64_t bytes_;
  int64_t done_ = 0;
  std::vector<Piece> pieces_;
};

class CompressedTier::Read : public TierCopy {
 public:
  Read(const HostMemory* memory, const Record& record, void* destination)
      : memory_(memory),
        record_(record),
        destination_(static_cast<char*>(destination)) {}

  Progress CopyChunk(TierError* /*error*/) override {
    const int64_t bytes = NextPiece(record_.bytes, done_);
    if (bytes == 0) return Progress::kDone;
    const Piece& piece = record_.pieces[done_ / kPieceBytes];
    const char* const from = memory_->At(piece.block);
    if (piece.bytes == bytes) {
      StreamCopy(destination_ + done_, from, bytes);
    } else {
      UnpackZeros(from, destination_ + done_, bytes);
    }
    done_ += bytes;
    return done_ == record_.bytes ? Progress::kDone : Progress::kMore;
  }

 private:
  const HostMemory* const memory_;
  const Record& record_;
  char* const destination_;
  int64_t done_ = 0;
};

std::unique_ptr<TierWrite> CompressedTier::BeginWrite(const void* source,
                                                      int64_t bytes,
                                                      TierError* /*error*/) {
  // How much it takes is known when it is packed.
  return std::make_unique<Write>(this, source, bytes);
}

std::unique_ptr<TierCopy> CompressedTier::BeginRead(const StoredBuffer& stored,
                                                    void* destination) {
  return std::make_unique<Read>(&memory_, records_.Get(stored.location()),
                                destination);
}

int64_t CompressedTier::TakenBy(const StoredBuffer& stored) const {
  int64_t bytes = 0;
  for (const Piece& piece : records_.Get(stored.location()).pieces) {
    bytes += piece.bytes;
  }
  return bytes;
}

TierUsage CompressedTier::usage() const {
  TierUsage usage;
  usage.limit_bytes = memory_.limit_bytes();
  usage.taken_bytes = memory_.in_use_bytes();
  usage.stored_bytes = records_.stored_bytes();
  return usage;
}

}  // namespace sn_tf
