// A [kRows, kColumns] tile of fp16 in shared memory, addressed in 16-byte chunks that are swizzled
// so that the reads of m8n8k4 fragments, and the writes of whole rows, touch every bank once.
//
// A quarter-warp (8 lanes, one 128-bit wavefront) reads one chunk of four consecutive rows (B: the
// quad-pairs share them) or of the four rows of each of two quad-pairs (A). Chunk c of row r lies
// at c ^ swizzle(r), and rows that one wavefront may read together differ in
//   rows of 8 chunks and more   (r & 7), bit 2 flipped by r's bits 3 and 4: quad-pairs are 8 or 16
//                               rows apart;
//   rows of 4 chunks            bit 0 of r picks the half of the banks, bits 1 and 3 the chunk.
#pragma once

#include "kernels/machine/machine.h"
#include "kernels/tile/fragment.h"

namespace sparkbench {

inline constexpr int kChunkHalves = 8;

template <int kRows, int kColumns>
struct SharedTile {
  static constexpr int kChunksPerRow = kColumns / kChunkHalves;
  static_assert(kChunksPerRow % 8 == 0 || kChunksPerRow == 4, "these are the two swizzles");

  Bits128 chunk[kRows * kChunksPerRow];

  SPARK_HD static int swizzle(int row) {
    if constexpr (kChunksPerRow == 4) return ((row >> 1) & 1) | ((row >> 2) & 2);
    return (row & 7) ^ (((row >> 1) ^ (row >> 2)) & 4);
  }
  SPARK_HD Bits128* at(int row, int column_chunk) {
    return &chunk[row * kChunksPerRow + (column_chunk ^ swizzle(row))];
  }
};

/// Fills the tile from rows 0..valid_rows-1 of a tensor whose rows are row_stride halves apart; the
/// rest becomes zeros. Every thread of the block takes part; a barrier must follow.
template <int kThreads, class Machine, int kRows, int kHeadDim>
SPARK_DEVICE void load_tile(Machine& machine, SharedTile<kRows, kHeadDim>& tile, const Half* rows,
                            std::size_t row_stride, int valid_rows) {
  constexpr int kChunksPerRow = SharedTile<kRows, kHeadDim>::kChunksPerRow;
  static_assert(kRows * kChunksPerRow % kThreads == 0, "every thread copies as many chunks");
#pragma unroll
  for (int first = 0; first < kRows * kChunksPerRow; first += kThreads) {
    const int index = first + machine.thread();
    const int row = index / kChunksPerRow;
    const int column_chunk = index % kChunksPerRow;
    Bits128 bits{};
    if (row < valid_rows) {
      bits = machine.template load_global<Bits128>(
          rows + static_cast<std::size_t>(row) * row_stride + column_chunk * kChunkHalves);
    }
    machine.store_shared(tile.at(row, column_chunk), bits);
  }
}

/// One chunk as the operands of two k-steps (A row-major, B column-major) or of two column groups
/// (B row-major): halves 0..3, then 4..7.
template <class Machine, int kRows, int kHeadDim>
SPARK_DEVICE void load_operands(Machine& machine, OperandFragment (&operand)[2],
                                SharedTile<kRows, kHeadDim>& tile, int row, int column_chunk) {
  const Bits128 bits = machine.template load_shared<Bits128>(tile.at(row, column_chunk));
  operand[0] = {{bits.word[0], bits.word[1]}};
  operand[1] = {{bits.word[2], bits.word[3]}};
}

}  // namespace sparkbench
