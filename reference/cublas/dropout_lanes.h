// How eight lanes with 8 consecutive columns each come by their part of the dropout mask.
//
// A block of the mask (kernels/dropout.h) has one pair of columns of each of eight chunks, which
// are eight lanes'. So lanes draw blocks for one another and transpose what they drew. A *word* is
// a lane's columns of four chunks: column 2 * pair + e of chunk c is bit
//   16 * (c >> 1) + 8 * e + 4 * (c & 1) + pair,
// set if the column is dropped. Of four chunks and 64 columns there are 16 blocks, (c, pair):
//   if 16 lanes have rows r and r + 8, each draws one of them;
//   if 8 lanes have one row, each draws two and keeps that row's half of both.
// Either way the bits of a block stand for lanes, and the lanes for chunks and pairs; each step of
// exchange_bits turns that round for a bit of the number of a lane.
#pragma once

#include <cstdint>

#include "kernels/dropout.h"

namespace sparkbench {

/// Chunks of which a word has the columns.
inline constexpr int kWordChunks = 4;

/// Block n of the 16: which chunk of a word it is of, and which pair of columns of each lane.
SPARK_HD constexpr int chunk_of_block(int n) { return n >> 2; }
SPARK_HD constexpr int pair_of_block(int n) { return n & 3; }

SPARK_HD constexpr int dropped_column_bit(int chunk, int pair, int e) {
  return 16 * (chunk >> 1) + 8 * e + 4 * (chunk & 1) + pair;
}

/// The blocks n and n + 8, of which a lane has one row: what of them is this row's.
SPARK_HD std::uint32_t row_of_blocks(std::uint32_t first, std::uint32_t second,
                                     bool is_second_row) {
  return is_second_row ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
}

/// A step of the transposition, of kDistance bits: 16 between the lanes of two rows, and 4, 2 and 1
/// between lanes whose numbers differ by that. `received` is the other lane's word, which has the
/// higher number unless `is_second`.
template <int kDistance>
SPARK_HD std::uint32_t exchange_bits(std::uint32_t own, std::uint32_t received, bool is_second) {
  constexpr std::uint32_t kLower = ~0u / ((1u << kDistance) + 1u);
  // Rotated, since one instruction shifts either way then.
  const unsigned left = is_second ? 32u - kDistance : kDistance;
  const std::uint32_t moved = received << left | received >> (32u - left);
  const std::uint32_t kept = is_second ? ~kLower : kLower;
  return (own & kept) | (moved & ~kept);
}

}  // namespace sparkbench
