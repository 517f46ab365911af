// A [kRows, 80] tile of fp16 in shared memory without padding between rows, where a SwizzledTile
// (swizzled_tile.h) would take the space of 128 columns. Each row begins two of the banks' eight
// chunks after the row before, and every second group of eight rows four chunks further on, which
// does most of the work of a swizzle. Neighbouring chunks are exchanged in rows 4 to 11 of 16. Thus
// each wavefront of these accesses touches every bank once:
//   A row-major      rows 0..3 or 4..7 of a quad-pair, one chunk: both column halves read the same
//   B column-major   keys 0..7 or 8..15 of a step (grid_operand_key), one chunk
//   B row-major      rows x, x + 1, x + 8, x + 9, x even, chunks that differ in bit 0; in a half
//                    block of columns, halves of one chunk
//   O                rows 0..3 or 4..7 of a quad-pair, chunks that differ in bit 0; in a half
//                    block, rows 0..3 or 4..7 of both, halves of one chunk
//   whole rows       by two lanes per row
#pragma once

#include "kernels/base/host_device.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

template <int kTileRows, int kTileColumns>
struct DenseTile {
  static constexpr int kRows = kTileRows;
  static constexpr int kColumns = kTileColumns;
  static constexpr int kChunks = kColumns / 8;
  static constexpr int kChunksPerRow = kChunks;
  static constexpr int kLanesPerRow = 2;  // that copy one at once
  /// The distance in chunks between column halves, and between lane halves, of B (row-major).
  static constexpr int kColumnHalfChunks = 1, kLaneHalfChunks = 2;
  static_assert(kChunks % 8 == 2, "rows begin two chunks of the banks behind each other");

  /// Eight rows, with the padding that keeps them from the banks of the next eight.
  static constexpr int kOctetChunks = 8 * kChunks + 4;
  Bits128 chunk[kRows / 8][kOctetChunks];

  /// A row's first chunk. `row` is a multiple of 16.
  SPARK_HD Bits128* from_row(int row) { return chunk[row / 8]; }

  SPARK_HD Bits128* at(int row, int column_chunk) {
    return reinterpret_cast<Bits128*>(bytes() + lane_place(row, column_chunk).offset_bytes);
  }

  /// A lane's offset in a fragment, from the fragment's row and chunk.
  struct LanePlace {
    int offset_bytes;
  };
  SPARK_HD static LanePlace lane_place(int row, int column_chunk) {
    return {16 * (pair_place(row, column_chunk) + ((column_chunk & 1) ^ swizzle(row)))};
  }
  /// Chunk (row + lane's row, column_chunk + lane's chunk), neither sum with a carry. For a
  /// constant row and chunk the address is the lane's offset or its neighbour's, and the load's
  /// immediate offset.
  SPARK_HD Bits128* at(const LanePlace& lane, int row, int column_chunk) {
    const int offset_bytes = lane.offset_bytes ^ (16 * ((column_chunk & 1) ^ swizzle(row)));
    return reinterpret_cast<Bits128*>(bytes() + offset_bytes + 16 * pair_place(row, column_chunk));
  }

 private:
  SPARK_HD unsigned char* bytes() { return reinterpret_cast<unsigned char*>(this); }
  SPARK_HD static int pair_place(int row, int column_chunk) {
    return row * kChunks + (row >> 3) * (kOctetChunks - 8 * kChunks) + (column_chunk & ~1);
  }
  SPARK_HD static int swizzle(int row) { return ((row >> 2) ^ (row >> 3)) & 1; }
};

}  // namespace sparkbench
