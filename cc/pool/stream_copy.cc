// SPDX-License-Identifier: Apache-2.0
#include "cc/pool/stream_copy.h"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sn_tf {
namespace {

void Copy(char* destination, const char* source, int64_t bytes) {
  // memcpy of nothing must not be given the nullptr of an empty tensor.
  if (bytes > 0) std::memcpy(destination, source, static_cast<size_t>(bytes));
}

#ifdef __SSE2__

constexpr int64_t kLineBytes = 64;
// Far enough ahead to hide a load from memory.
constexpr int64_t kPrefetchBytes = 1024;

// `destination` is aligned to kLineBytes, of which `bytes` is a multiple.
void StreamLines(char* destination, const char* source, int64_t bytes) {
  for (int64_t offset = 0; offset < bytes; offset += kLineBytes) {
    // A prefetch past the end is ignored.
    _mm_prefetch(source + offset + kPrefetchBytes, _MM_HINT_NTA);
    const auto* const from = reinterpret_cast<const __m128i*>(source + offset);
    auto* const to = reinterpret_cast<__m128i*>(destination + offset);
    const __m128i a = _mm_loadu_si128(from);
    const __m128i b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2);
    const __m128i d = _mm_loadu_si128(from + 3);
    // All of a line in a row, or it would be written to memory in parts.
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  // Streamed stores are not ordered with the locks that publish the copy.
  _mm_sfence();
}

#endif  // __SSE2__

}  // namespace

void StreamCopy(void* destination, const void* source, int64_t bytes) {
  auto* to = static_cast<char*>(destination);
  const auto* from = static_cast<const char*>(source);
#ifdef __SSE2__
  const auto address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to));
  const int64_t head = std::min(bytes, -address & (kLineBytes - 1));
  const int64_t lines = (bytes - head) & -kLineBytes;
  Copy(to, from, head);
  StreamLines(to + head, from + head, lines);
  to += head + lines;
  from += head + lines;
  bytes -= head + lines;
#endif
  Copy(to, from, bytes);
}

}  // namespace sn_tf
