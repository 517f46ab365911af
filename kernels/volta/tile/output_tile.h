// From the accumulators of matmul_probabilities to rows of an fp16 tensor, through shared memory of
// one warp: a lane holds 16 bytes of a row here and there, and global memory wants whole sectors.
#pragma once

#include <cstddef>

#include "kernels/base/planted_fault.h"
#include "kernels/machine/machine.h"
#include "kernels/volta/tile/operand_exchange.h"
#include "kernels/volta/tile/quad_grid.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench {

/// 16 rows of a product; the permutation of the chunks keeps its stores (a quad-pair's rows 0..3 or
/// 4..7, two chunks that differ in bit 1) and its loads (whole rows) free of bank conflicts.
template <int kColumns>
struct OutputTile {
  static constexpr int kChunksPerRow = kColumns / 8;
  static constexpr int kLanesPerRow = kChunksPerRow;
  /// As of the tile of B (swizzled_tile.h).
  static constexpr int kColumnHalfChunks = 2, kLaneHalfChunks = 1;

  Bits128 chunk[kGridRows][kChunksPerRow];

  SPARK_HD Bits128* at(int row, int column_chunk) {
    const int swizzle = ((row & 1) << 2) | ((row >> 1) & 1);
    return &chunk[row][column_chunk ^ swizzle];
  }
};

/// 16 rows of kBlocks blocks of 32 columns followed by half a block, whose stores (rows 0..3 or
/// 4..7 of both row halves, halves of one chunk) are free of bank conflicts, too.
template <int kBlocks>
struct HalfBlockOutputTile {
  static constexpr int kChunksPerRow = 4 * kBlocks + 2, kLanesPerRow = 8 * kBlocks;
  static constexpr int kColumnHalfChunks = 2, kLaneHalfChunks = 1;

  Bits128 chunk[kGridRows][kLanesPerRow];

  SPARK_HD Bits128* at(int row, int column_chunk) {
    const int swizzle = ((row & 1) << 2) | ((row >> 1) & 1) | ((row >> 2) & 2);
    return &chunk[row][column_chunk ^ swizzle];
  }
};

/// Rows of a tensor to be written, row_stride elements apart, of which the first `valid` exist, and
/// of these the first `chunks` chunks (all, or more than a tile has).
struct OutputRows {
  Bits16* first;
  int row_stride;
  int valid;
  int chunks;

  /// Row `fixed` + `of_lane`, of which the compiler knows the one.
  SPARK_HD Bits16* at(int fixed, int of_lane) const {
    return first + static_cast<std::ptrdiff_t>(fixed + of_lane) * row_stride;
  }
  SPARK_HD bool has(int row) const {
    return SPARK_PLANTED(kRowBehindEndStored, row < valid, row <= valid);
  }
};

/// Rounds factor * value to fp16, in the columns that matmul_probabilities gives; kAccumulator says
/// in which order of elements. The tile is an OutputTile, or a DenseTile of 16 rows.
template <Accumulator kAccumulator, class Machine, class Tile, Accumulator kValue,
          int kColumnGroups>
SPARK_DEVICE void store_output(Machine& machine, Tile& tile,
                               const float (&factor)[GridLayout<kAccumulator>::kRowsPerLane],
                               const AccumulatorFragment<kValue> (&value)[kColumnGroups]) {
  const int lane = machine.lane();
#pragma unroll
  for (int pair = 0; pair < kColumnGroups / 2; ++pair) {
    OperandFragment part[2][2];  // of each column group, columns 0..3 and 4..7
#pragma unroll
    for (int f = 0; f < 2; ++f) {
      float scaled[8];
      widen(machine, value[2 * pair + f], scaled);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        scaled[i] *= factor[GridLayout<kAccumulator>::slot(quartet_of(i))];
      to_operand_rows<kAccumulator>(machine, scaled, part[f]);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const Bits128 columns{
          {part[0][h].pair[0], part[0][h].pair[1], part[1][h].pair[0], part[1][h].pair[1]}};
      machine.store_shared(tile.at(grid_operand_row(lane),
                                   4 * pair + Tile::kColumnHalfChunks * grid_column_half(lane) +
                                       Tile::kLaneHalfChunks * h),
                           columns);
    }
  }
  if constexpr (kColumnGroups % 2 != 0) {
    float scaled[8];
    widen(machine, value[kColumnGroups - 1], scaled);
#pragma unroll
    for (int i = 0; i < 8; ++i) scaled[i] *= factor[GridLayout<kAccumulator>::slot(quartet_of(i))];
    OperandFragment part[2];  // columns 0..3 and 4..7
    to_operand_rows<kAccumulator>(machine, scaled, part);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      auto* const halves =
          reinterpret_cast<Bits64*>(tile.at(grid_operand_row(lane), 4 * (kColumnGroups / 2) + h));
      machine.store_shared(halves + grid_column_half(lane),
                           Bits64{{part[h].pair[0], part[h].pair[1]}});
    }
  }
}

/// Writes the tile's rows to global memory, whole sectors an instruction.
template <class Machine, class Tile>
SPARK_DEVICE void write_rows(Machine& machine, Tile& tile, const OutputRows& rows) {
  constexpr int kLanesPerRow = Tile::kLanesPerRow;
  constexpr int kRowsAtOnce = 32 / kLanesPerRow;
#pragma unroll
  for (int first_chunk = 0; first_chunk < Tile::kChunksPerRow; first_chunk += kLanesPerRow) {
    const int chunk = first_chunk + machine.lane() % kLanesPerRow;
#pragma unroll
    for (int first = 0; first < kGridRows; first += kRowsAtOnce) {
      const int row = first + machine.lane() / kLanesPerRow;
      if (chunk >= rows.chunks) continue;
      const auto bits = machine.template load_shared<Bits128>(tile.at(row, chunk));
      Bits16* place = rows.at(first, machine.lane() / kLanesPerRow) + 8 * chunk;
      if (rows.has(row)) machine.store_global(place, bits);
    }
  }
}

}  // namespace sparkbench
