// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/zero_packing.h"

#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sn_tf {
namespace {

constexpr int64_t kWordBytes = 4;
constexpr int64_t kGroupWords = 8;  // Whose bits make a byte.

uint32_t LoadWord(const char* words, int64_t index) {
  uint32_t word;
  std::memcpy(&word, words + index * kWordBytes, kWordBytes);
  return word;
}

void StoreWord(char* words, int64_t index, uint32_t word) {
  std::memcpy(words + index * kWordBytes, &word, kWordBytes);
}

int64_t MaskBytes(int64_t words) { return (words + 31) / 32 * kWordBytes; }

int64_t CountZeros(const char* data, int64_t words) {
  int64_t zeros = 0;
  int64_t index = 0;
#ifdef __SSE2__
  // Four sums, which cannot overflow within a run.
  constexpr int64_t kRunWords = int64_t{1} << 20;
  while (index + 4 <= words) {
    __m128i sums = _mm_setzero_si128();
    for (const int64_t end = index + kRunWords;
         index < end && index + 4 <= words; index += 4) {
      const __m128i four = _mm_loadu_si128(
          reinterpret_cast<const __m128i*>(data + index * kWordBytes));
      // A comparison that holds is -1.
      sums = _mm_sub_epi32(sums, _mm_cmpeq_epi32(four, _mm_setzero_si128()));
    }
    alignas(16) int32_t each[4];
    _mm_store_si128(reinterpret_cast<__m128i*>(each), sums);
    for (const int32_t sum : each) zeros += sum;
  }
#endif
  for (; index < words; ++index) zeros += LoadWord(data, index) == 0 ? 1 : 0;
  return zeros;
}

}  // namespace

int64_t PackedBytes(const void* data, int64_t bytes) {
  const int64_t words = bytes / kWordBytes;
  const int64_t zeros = CountZeros(static_cast<const char*>(data), words);
  return MaskBytes(words) + (words - zeros + 1) * kWordBytes;
}

bool PackZeros(const void* data, int64_t bytes, void* packed,
               int64_t packed_bytes) {
  const auto* const from = static_cast<const char*>(data);
  auto* const mask = static_cast<char*>(packed);
  const int64_t words = bytes / kWordBytes;
  char* const kept = mask + MaskBytes(words);
  const int64_t room = (packed_bytes - MaskBytes(words)) / kWordBytes - 1;
  std::memset(mask, 0, MaskBytes(words));
  int64_t count = 0;
  int64_t index = 0;
  for (; index + kGroupWords <= words && count + kGroupWords <= room;
       index += kGroupWords) {
    uint32_t bits = 0;
    // Without a branch, which would be guessed wrong every other time: a zero
    // is overwritten by the next word.
#pragma GCC unroll 8
    for (int64_t i = 0; i < kGroupWords; ++i) {
      const uint32_t word = LoadWord(from, index + i);
      const uint32_t bit = word != 0 ? 1 : 0;
      StoreWord(kept, count, word);
      count += bit;
      bits |= bit << i;
    }
    mask[index / kGroupWords] = static_cast<char>(bits);
  }
  for (; index < words; ++index) {
    const uint32_t word = LoadWord(from, index);
    if (word == 0) continue;
    if (count == room) return false;
    StoreWord(kept, count++, word);
    char& bits = mask[index / kGroupWords];
    bits = static_cast<char>(bits | 1 << index % kGroupWords);
  }
  if (count != room) return false;
  StoreWord(kept, count, 0);
  if (words * kWordBytes < bytes) {
    std::memcpy(kept + count * kWordBytes, from + words * kWordBytes,
                bytes - words * kWordBytes);
  }
  return true;
}

void UnpackZeros(const void* packed, void* data, int64_t bytes) {
  const auto* const mask = static_cast<const char*>(packed);
  auto* const to = static_cast<char*>(data);
  const int64_t words = bytes / kWordBytes;
  const char* const kept = mask + MaskBytes(words);
  int64_t count = 0;
  // The word after the last one kept is read, and its value not used.
  const auto unpack = [&](int64_t index, uint32_t bit) {
    StoreWord(to, index, LoadWord(kept, count) & (0U - bit));
    count += bit;
  };
  int64_t index = 0;
  for (; index + kGroupWords <= words; index += kGroupWords) {
    const uint32_t bits = static_cast<uint8_t>(mask[index / kGroupWords]);
#pragma GCC unroll 8
    for (int64_t i = 0; i < kGroupWords; ++i) {
      unpack(index + i, bits >> i & 1);
    }
  }
  for (; index < words; ++index) {
    const auto bits = static_cast<uint8_t>(mask[index / kGroupWords]);
    unpack(index, bits >> index % kGroupWords & 1U);
  }
  if (words * kWordBytes < bytes) {
    std::memcpy(to + words * kWordBytes, kept + count * kWordBytes,
                bytes - words * kWordBytes);
  }
}

}  // namespace sn_tf
