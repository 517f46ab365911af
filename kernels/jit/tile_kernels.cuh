// The tiles of a pattern, asked of it pair by pair. Before this text stands a function
//   bool pattern_sees(int text, Whole h, Whole q, Whole k, Whole seqlen_q, Whole seqlen_k)
// (pattern_source.h). A block of threads has a tile, a thread one word of 32 keys after the other.
#pragma once

#include "kernels/jit/tile_question.h"

namespace sparkbench {

using TileSum = unsigned long long;

/// Pairs outside of the sequences are not visible.
__device__ unsigned word_of_tile(const TileQuestion& asked, int row, int first_key) {
  if (row >= asked.seqlen_q) return 0;
  unsigned word = 0;
  for (int bit = 0; bit < 32; ++bit) {
    const int key = first_key + bit;
    const bool is_seen =
        key < asked.seqlen_k && pattern_sees(asked.text, asked.head, Whole(row) + asked.row_at, key,
                                             asked.seqlen_q, asked.seqlen_k);
    word |= unsigned(is_seen) << bit;
  }
  return word;
}

/// Finalizer of SplitMix64 (Steele, Lea, Flood, 2014).
__device__ TileSum mixed(TileSum z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

extern "C" __global__ void see_tiles(TileQuestion asked, SeenTile* tiles) {
  __shared__ TileSum sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const int row_words = asked.keys / 32;
  const int first_row = int(blockIdx.x) / asked.key_tiles * asked.rows;
  const int first_key = int(blockIdx.x) % asked.key_tiles * asked.keys;
  TileSum own = 0;
  bool is_any_seen = false, is_any_hidden = false;
  for (int at = int(threadIdx.x); at < asked.rows * row_words; at += int(blockDim.x)) {
    const int row = first_row + at / row_words, key = first_key + at % row_words * 32;
    const unsigned word = word_of_tile(asked, row, key);
    unsigned wanted = ~0u;
    if (asked.may_pass_keys != 0) {
      const int left = asked.seqlen_k - key;
      wanted = left >= 32 ? ~0u : left <= 0 ? 0u : (1u << left) - 1u;
    } else if (row >= asked.seqlen_q) {
      wanted = 0;
    }
    is_any_seen = is_any_seen || word != 0;
    is_any_hidden = is_any_hidden || word != wanted;
    own += mixed(((TileSum(at) + 1) << 32) | word);
  }
  atomicAdd(&sum, own);
  const bool is_seen = __syncthreads_or(is_any_seen) != 0;
  const bool is_hidden = __syncthreads_or(is_any_hidden) != 0;
  if (threadIdx.x == 0) tiles[blockIdx.x] = {sum, !is_seen ? 0 : is_hidden ? 1 : 2, 0};
}

/// Writes the words of a tile a block; or counts the words that differ from what stands there.
extern "C" __global__ void write_tiles(TileQuestion asked, const CutTilePlace* places,
                                       unsigned* words, int* differing) {
  const CutTilePlace place = places[blockIdx.x];
  const int row_words = asked.keys / 32;
  for (int at = int(threadIdx.x); at < asked.rows * row_words; at += int(blockDim.x)) {
    const unsigned word = word_of_tile(asked, place.row_tile * asked.rows + at / row_words,
                                       place.key_tile * asked.keys + at % row_words * 32);
    if (differing == nullptr) {
      words[place.words + at] = word;
    } else if (words[place.words + at] != word) {
      atomicAdd(differing, 1);
    }
  }
}

}  // namespace sparkbench
