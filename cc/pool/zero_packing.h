// SPDX-License-Identifier: Apache-2.0
//
// Lossless packing of data in which many 32-bit words are zero, as floats after
// a ReLU: a bit for each word that tells whether it is zero, then the words
// that are not. (Rhu et al., "Compressing DMA Engine", HPCA 2018, call this
// zero-value compression.)
//
// On floats of which half are zero and the others normal noise it leaves 53%,
// at several GB/s. LZ4 leaves 67% of them (83% where bytes are shuffled by
// their place in the word) and Zstandard at level 1, shuffled, 58%, at a sixth
// and a tenth of the speed: slower than a disk.
#ifndef SN_TF_CC_POOL_ZERO_PACKING_H_
#define SN_TF_CC_POOL_ZERO_PACKING_H_

#include <cstdint>

namespace sn_tf {

// No address here needs an alignment. The packed form of `bytes` is
//   a bit per word, rounded up to whole words,
//   the words that are not zero,
//   the bytes after the last whole word, filled up to a word; always there.

// How many bytes the packed form of `data` has.
int64_t PackedBytes(const void* data, int64_t bytes);

// Packs `data`. `packed_bytes` is PackedBytes of it, and no more is written.
// False where it is not: the data has changed since.
bool PackZeros(const void* data, int64_t bytes, void* packed,
               int64_t packed_bytes);

// Makes `bytes` of data from their packed form.
void UnpackZeros(const void* packed, void* data, int64_t bytes);

}  // namespace sn_tf

#endif  // SN_TF_CC_POOL_ZERO_PACKING_H_
