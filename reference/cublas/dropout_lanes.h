// How eight lanes with 8 consecutive columns each compute their part of the dropout mask.
//
// A block of the mask (kernels/problem/dropout.h) has one pair of columns from each of eight
// chunks, which belong to eight lanes. So the lanes draw blocks for each other and transpose the
// result. A *word* holds a lane's columns of four chunks. Column 2 * pair + e of chunk c is bit
//   16 * (c >> 1) + 8 * e + 4 * (c & 1) + pair,
// set if the column is dropped. Four chunks of 64 columns have 16 blocks, (c, pair):
//   if 16 lanes have rows r and r + 8, each lane draws one block;
//   if 8 lanes have one row, each lane draws two blocks and keeps that row's half of both.
// At first the bits of a block index lanes, and the lanes index chunks and pairs. Each
// exchange_bits swaps the two roles for one bit of the lane number.
#pragma once

#include <cstdint>

#include "kernels/problem/dropout.h"

namespace sparkbench {

/// Chunks per word.
inline constexpr int kWordChunks = 4;

/// For block n of the 16: its chunk of the word, and its pair of columns in each lane.
SPARK_HD constexpr int chunk_of_block(int n) { return n >> 2; }
SPARK_HD constexpr int pair_of_block(int n) { return n & 3; }

SPARK_HD constexpr int dropped_column_bit(int chunk, int pair, int e) {
  return 16 * (chunk >> 1) + 8 * e + 4 * (chunk & 1) + pair;
}

/// Takes this row's half of blocks n and n + 8 and combines them.
SPARK_HD std::uint32_t row_of_blocks(std::uint32_t first, std::uint32_t second,
                                     bool is_second_row) {
  return is_second_row ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
}

/// One step of the transposition, over kDistance bits: 16 between the lanes of two rows; 4, 2 and 1
/// between lanes whose numbers differ by that. `received` is the word of the other lane, which has
/// the higher number unless `is_second`.
template <int kDistance>
SPARK_HD std::uint32_t exchange_bits(std::uint32_t own, std::uint32_t received, bool is_second) {
  constexpr std::uint32_t kLower = ~0u / ((1u << kDistance) + 1u);
  // A rotation: one instruction shifts either way.
  const unsigned left = is_second ? 32u - kDistance : kDistance;
  const std::uint32_t moved = received << left | received >> (32u - left);
  const std::uint32_t kept = is_second ? ~kLower : kLower;
  return (own & kept) | (moved & ~kept);
}

}  // namespace sparkbench
