// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/make_tier.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "cc/pool/compressed_tier.h"
#include "cc/pool/file_tier.h"
#include "cc/pool/host_tier.h"
#include "cc/pool/tier_bandwidth.h"

namespace sn_tf {
namespace {

constexpr int64_t kMeasuredBytes = int64_t{32} << 20;

// Asks for checksums in host memory too; files have them always.
constexpr char kChecksumsVariable[] = "SN_TF_CHECKSUMS";

bool ChecksumsInMemory(TierError* error) {
  const char* const value = std::getenv(kChecksumsVariable);
  const std::string text = value == nullptr ? "" : value;
  if (!text.empty() && text != "0" && text != "1") {
    *error = TierError(TierError::Kind::kFailed,
                       std::string(kChecksumsVariable) +
                           " must be 0 or 1: whether what is swapped out to "
                           "memory is checked when it comes back. Received: '" +
                           text + "'.");
  }
  return text == "1";
}

std::unique_ptr<FileTier> MakeFileTier(const std::string& swap_dir,
                                       int64_t limit_bytes, TierError* error) {
  if (!swap_dir.empty()) {
    return FileTier::Create(swap_dir, limit_bytes, error);
  }
  std::unique_ptr<FileTier> made;
  for (const std::string& folder : TemporaryFolders()) {
    std::unique_ptr<FileTier> tier =
        FileTier::Create(folder, limit_bytes, error);
    if (tier == nullptr) continue;
    const bool on_disk = !tier->file().on_ram_disk();
    if (on_disk || made == nullptr) made = std::move(tier);
    if (on_disk) break;
  }
  return made;
}

std::string WarningOf(const SwapFile& file) {
  if (file.on_ram_disk()) {
    return "The swap folder '" + file.folder() +
           "' is a RAM disk: what is swapped out stays in memory. Give a "
           "folder "
           "on a disk (swap_dir, or the variable TMPDIR).";
  }
  if (!file.direct()) {
    return "The filesystem of the swap folder '" + file.folder() +
           "' takes no direct transfers (O_DIRECT): swapping goes through the "
           "page cache, which is emptied after each transfer. A folder on a "
           "local disk is faster (swap_dir).";
  }
  return "";
}

}  // namespace

std::vector<std::string> TemporaryFolders() {
  std::vector<std::string> folders;
  const char* const named = std::getenv("TMPDIR");
  if (named != nullptr && named[0] != '\0') folders.emplace_back(named);
  folders.insert(folders.end(), {"/tmp", "/var/tmp", "."});
  return folders;
}

PoolTier MakeTier(const TierSpec& spec, const std::string& swap_dir,
                  TierError* error) {
  PoolTier made;
  FileTier* file = nullptr;
  const bool checks_memory = ChecksumsInMemory(error);
  if (!error->ok()) return made;
  switch (spec.kind) {
    case TierKind::kHost:
      made.tier = std::make_unique<HostTier>(spec.limit_bytes);
      made.checked = checks_memory;
      break;
    case TierKind::kCompressed:
      made.tier = std::make_unique<CompressedTier>(spec.limit_bytes);
      made.checked = checks_memory;
      break;
    case TierKind::kFile: {
      std::unique_ptr<FileTier> tier =
          MakeFileTier(swap_dir, spec.limit_bytes, error);
      if (tier == nullptr) return made;
      file = tier.get();
      made.folder = tier->file().folder();
      made.warning = WarningOf(tier->file());
      made.tier = std::move(tier);
      break;
    }
  }
  *error = MeasureTierBandwidth(*made.tier, kMeasuredBytes, &made.bandwidth);
  made.tier->ReleaseFreeSpace();
  // Only now: how many transfers the measurement makes is its own affair.
  if (error->ok() && file != nullptr) *error = file->ObeyFaultVariable();
  if (!error->ok()) made.tier.reset();
  return made;
}

}  // namespace sn_tf
