// How warps of the backward kernels that share rows of dQ, dK or dV split their columns.
#pragma once

#include "kernels/volta/tile/output_tile.h"

namespace sparkbench::volta {

/// Warps that share rows get 64 columns each, or 32 if there are no more.
template <int kHeadDim>
struct ColumnDivision {
  static_assert(kHeadDim == 32 || kHeadDim % 64 == 0, "a warp has as much as another");
  static constexpr int kBlocks = kHeadDim == 32 ? 1 : 2;  // of 32 columns, of a warp
  static constexpr bool kHasHalfBlocks = false;           // plus half a block
  static constexpr int kGroups = 4;                       // of 16 columns that it has room for
  using Output = OutputTile<64>;

  /// The first block of 32 columns that a warp has of a row.
  SPARK_HD static constexpr int first_block(int column_block) { return 2 * column_block; }
  /// The first chunk of a row of a warp's half block, if it has one.
  SPARK_HD static constexpr int half_chunk(int) { return 0; }
};

/// 96 columns for two warps: each has a block of 32 and half of the third.
struct HalfBlockDivision {
  static constexpr int kBlocks = 1;
  static constexpr bool kHasHalfBlocks = true;
  static constexpr int kGroups = 3;
  using Output = HalfBlockOutputTile<1>;

  SPARK_HD static constexpr int first_block(int column_block) { return column_block; }
  SPARK_HD static constexpr int half_chunk(int column_block) { return 8 + 2 * column_block; }
  /// The chunk of a row that a warp has as chunk `chunk` of its output.
  SPARK_HD static constexpr int chunk_of_row(int column_block, int chunk) {
    return chunk < 4 ? 4 * column_block + chunk : half_chunk(column_block) + chunk - 4;
  }
};

/// All of 80 columns for a warp, two blocks and half of one.
struct WholeRowDivision {
  static constexpr int kBlocks = 2;
  static constexpr bool kHasHalfBlocks = true;
  static constexpr int kGroups = 5;
  using Output = HalfBlockOutputTile<2>;

  SPARK_HD static constexpr int first_block(int) { return 0; }
  SPARK_HD static constexpr int half_chunk(int) { return 8; }
  SPARK_HD static constexpr int chunk_of_row(int, int chunk) { return chunk; }
};

/// Writes a warp's rows of whole blocks of 32 columns and half a block, `rows` the tensor's: row i
/// of the tile is row row_of(i) of these.
template <class Columns, class Machine, class RowOf>
SPARK_DEVICE void write_half_block_rows(Machine& machine, typename Columns::Output& tile,
                                        int column_block, const OutputRows& rows, RowOf row_of) {
  constexpr int kLanesPerRow = Columns::Output::kLanesPerRow, kRowsAtOnce = 32 / kLanesPerRow;
  const int chunk = machine.lane() % kLanesPerRow;
  const int of_row = Columns::chunk_of_row(column_block, chunk);
  if (chunk >= Columns::Output::kChunksPerRow || of_row >= rows.chunks) return;
#pragma unroll
  for (int first = 0; first < kGridRows; first += kRowsAtOnce) {
    const int of_tile = first + machine.lane() / kLanesPerRow;
    const int row = row_of(of_tile);
    const auto bits = machine.template load_shared<Bits128>(tile.at(of_tile, chunk));
    Bits16* const place = rows.at(0, row) + 8 * of_row;
    if (rows.has(row)) machine.store_global(place, bits);
  }
}

}  // namespace sparkbench::volta
