// A [kRows, kColumns] tile of fp16 in shared memory, of 72 to 96 columns, whose rows lie twelve
// chunks of 16 bytes apart, where a SwizzledTile (swizzled_tile.h) would take sixteen. Odd rows
// begin in the other half of the banks, so that a permutation of each four chunks does for the
// rest. Each wavefront (8 lanes of 128 bits) of these touches every bank once:
//   A row-major      rows 0..3 or 4..7 of a quad-pair, one chunk: both column halves read the same
//   B column-major   keys 0..7 or 8..15 of a step (grid_operand_key), one chunk
//   B row-major      rows x, x + 1, x + 8, x + 9, x even, chunks that differ in bit 1; of half a
//                    block of columns halves of one chunk
//   whole rows       by four lanes per row
#pragma once

#include "kernels/base/host_device.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

template <int kTileRows, int kTileColumns>
struct QuartetTile {
  static constexpr int kRows = kTileRows;
  static constexpr int kColumns = kTileColumns;
  static constexpr int kChunks = kColumns / 8;  // of a row, of those that there is room for:
  static constexpr int kChunksPerRow = 12;
  static constexpr int kLanesPerRow = 4;  // that copy one at once
  /// The distance in chunks between column halves, and between lane halves, of B (row-major).
  static constexpr int kColumnHalfChunks = 2, kLaneHalfChunks = 1;
  static_assert(kChunks > kChunksPerRow - kLanesPerRow && kChunks <= kChunksPerRow,
                "these are the columns that twelve chunks are for");

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
  /// Chunk (row + lane's row, column_chunk + lane's chunk), neither sum with a carry. For a
  /// constant row and chunk the address is one of the lane's four offsets, and the load's immediate
  /// offset.
  SPARK_HD Bits128* at(const LanePlace& lane, int row, int column_chunk) {
    const int offset_bytes = lane.offset_bytes ^ (16 * ((column_chunk & 3) ^ swizzle(row)));
    auto* bytes = reinterpret_cast<unsigned char*>(chunk) + offset_bytes;
    return reinterpret_cast<Bits128*>(bytes + 16 * (kChunksPerRow * row + (column_chunk & ~3)));
  }

 private:
  SPARK_HD static int swizzle(int row) { return ((row >> 1) ^ ((row >> 3) & 1)) & 3; }
};

}  // namespace sparkbench
