// SPDX-License-Identifier: Apache-2.0
#ifndef SN_TF_CC_CORE_ALIGNED_MAPPING_H_
#define SN_TF_CC_CORE_ALIGNED_MAPPING_H_

#include <cstdint>
#include <utility>

namespace sn_tf {

// Private anonymous pages, reserved and not touched, at an aligned address.
// Movable; unmapped at the end.
class AlignedMapping {
 public:
  static constexpr int64_t kAlignmentBytes = int64_t{2} << 20;

  AlignedMapping() = default;
  // Readable and writable. base() is nullptr where the system refuses.
  explicit AlignedMapping(int64_t bytes);
  ~AlignedMapping();
  AlignedMapping(AlignedMapping&& other) noexcept { *this = std::move(other); }
  AlignedMapping& operator=(AlignedMapping&& other) noexcept;

  char* base() const { return base_; }
  int64_t bytes() const { return bytes_; }

 private:
  void* mapping_ = nullptr;  // base_, before it was aligned.
  char* base_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace sn_tf

#endif  // SN_TF_CC_CORE_ALIGNED_MAPPING_H_
