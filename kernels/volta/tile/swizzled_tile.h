// A [kRows, kColumns] tile of fp16 in shared memory for a warp's 2 x 2 grid of quad-pairs
// (quad_grid.h), addressed in 16-byte chunks. The chunks of a row are permuted so that each
// 128-bit wavefront (8 lanes) of these touches every bank once:
//   A row-major      rows 0..3 or 4..7 of a quad-pair, one chunk: both column halves read the same
//   B column-major   keys 0..7 or 8..15 of a step (grid_operand_key), one chunk
//   B row-major      rows x, x + 1, x + 8, x + 9, x even, chunks that differ in bit 1
//   whole rows       written by eight lanes per row
// The permutation wants multiples of eight chunks: rows of other tiles are so far apart.
#pragma once

#include "kernels/machine/machine.h"
#include "kernels/machine/mma/m8n8k4.h"

namespace sparkbench {

template <int kTileRows, int kTileColumns>
struct SwizzledTile {
  static constexpr int kRows = kTileRows;
  static constexpr int kColumns = kTileColumns;
  static constexpr int kChunks = kColumns / 8;  // of a row, of those that there is room for:
  static constexpr int kChunksPerRow = (kChunks + 7) / 8 * 8;
  static constexpr int kLanesPerRow = kChunksPerRow;  // that copy one at once
  /// The distance in chunks between column halves, and between lane halves, of B (row-major).
  static constexpr int kColumnHalfChunks = 2, kLaneHalfChunks = 1;

  Bits128 chunk[kRows][kChunksPerRow];

  SPARK_HD Bits128* from_row(int row) { return chunk[row]; }

  SPARK_HD Bits128* at(int row, int column_chunk) {
    return &chunk[row][column_chunk ^ swizzle(row)];
  }

  /// A lane's offset in a fragment, from the fragment's row and chunk.
  struct LanePlace {
    int offset_bytes;
  };
  SPARK_HD static LanePlace lane_place(int row, int column_chunk) {
    return {16 * (row * kChunksPerRow + (column_chunk ^ swizzle(row)))};
  }
  /// Chunk (row + lane's row, column_chunk + lane's chunk), neither sum with a carry: then the
  /// permutation of the sum is the exclusive or of the permutations, and for a constant row and
  /// chunk the address is one instruction.
  SPARK_HD Bits128* at(const LanePlace& lane, int row, int column_chunk) {
    const int offset_bytes = lane.offset_bytes ^ (16 * (column_chunk ^ swizzle(row)));
    auto* bytes = reinterpret_cast<unsigned char*>(chunk) + offset_bytes;
    return reinterpret_cast<Bits128*>(bytes + 16 * kChunksPerRow * row);
  }

 private:
  SPARK_HD static int swizzle(int row) { return (row & 7) ^ ((row >> 1) & 4); }
};

/// One half of a chunk as an operand: of the k-step `half` (A row-major, B column-major), or of the
/// column group `half` (B row-major).
SPARK_HD OperandFragment operand(const Bits128& chunk, int half) {
  return {{chunk.word[2 * half], chunk.word[2 * half + 1]}};
}

}  // namespace sparkbench
