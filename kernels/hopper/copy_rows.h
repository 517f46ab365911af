// Rows of a tensor to a tile of shared memory, by asynchronous copies of 16 bytes.
#pragma once

#include <cstddef>

#include "kernels/hopper/swizzled_panels.h"
#include "kernels/tile/chunked_view.h"
#include "kernels/tile/row_order.h"

namespace sparkbench::hopper {

/// From row i * kApart of a tile to the next, by the zeros that i + 1 ends with: so a lane goes
/// from row to row with one addition, and a few registers tell where rows of any order lie.
template <int kApart, int kSteps>
class RowSteps {
 public:
  template <class Apart>
  SPARK_DEVICE explicit RowSteps(const Apart& apart) {
#pragma unroll
    for (int bit = 0; bit < kBits; ++bit) {
      halves_[bit] = apart.halves_to(kApart << bit) - apart.halves_to(kApart * ((1 << bit) - 1));
    }
  }
  SPARK_DEVICE explicit RowSteps(const RowsApart& apart) {
#pragma unroll
    for (int bit = 0; bit < kBits; ++bit) halves_[bit] = apart.halves_to(kApart);
  }
  /// Behind step i, below kSteps - 1.
  SPARK_DEVICE std::ptrdiff_t behind(int i) const {
    int bit = 0;
    while (((i + 1) & (1 << bit)) == 0) ++bit;
    return halves_[bit];
  }

 private:
  static constexpr int bits_of(int steps) { return steps <= 2 ? 1 : 1 + bits_of(steps / 2); }
  static constexpr int kBits = bits_of(kSteps);
  std::ptrdiff_t halves_[kBits];
};

/// Lanes that copy a row of a tile together: all of its chunks, or where these are no power of two
/// those of a panel.
template <class Tile>
constexpr int row_lanes() {
  constexpr int kChunks = Tile::kChunksPerRow;
  return (kChunks & (kChunks - 1)) == 0 ? kChunks : kPanelChunks;
}

/// Rows of a tensor from `first` on, of which there are `rows` and which have `chunks`, to a tile;
/// what it has besides becomes zeros. Copied by kLanes threads, of which this is `lane`.
template <int kLanes, class Tile, class Machine, class Apart>
SPARK_DEVICE void copy_rows(Machine& machine, Tile& tile, const Half* first, const Apart& apart,
                            int rows, int chunks, int lane) {
  constexpr int kRowLanes = row_lanes<Tile>();
  constexpr int kApart = kLanes / kRowLanes, kSteps = Tile::kRows / kApart;
  const int row = lane / kRowLanes;
  const RowSteps<kApart, kSteps> steps(apart);
  const Half* const of_lane = first + apart.halves_to(row);
  const auto copy_column = [&](int chunk, auto exists) {
    const Half* from = of_lane + kChunkHalves * chunk;
    const bool has_chunk = chunk < chunks;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int of_tile = row + kApart * i;
      machine.copy_async(tile.at(of_tile, chunk), from, has_chunk && exists(of_tile));
      if (i + 1 < kSteps) from += steps.behind(i);
    }
  };
#pragma unroll
  for (int first_chunk = 0; first_chunk < Tile::kChunksPerRow; first_chunk += kRowLanes) {
    const int chunk = first_chunk + lane % kRowLanes;
    if (chunk >= Tile::kChunksPerRow) break;
    if (rows >= Tile::kRows) {
      copy_column(chunk, [](int /*row*/) { return true; });
    } else {
      copy_column(chunk, [&](int of_tile) { return of_tile < rows; });
    }
  }
}

/// Rows of a block, from `row` on, by the threads of the warpgroup whose they are: of a pattern with
/// an order those that its list says.
template <class Config, class Machine, class Tile>
SPARK_DEVICE void copy_block_rows(Machine& machine, Tile& tile,
                                  const ChunkedView<const Half>& tensor, const RowOrder& order,
                                  int batch, int head, int row, int seqlen, int chunks) {
  constexpr int kLanes = 128;
  const int lane = machine.thread() % kLanes;
  if (has_order<Config>(order)) {
    const OrderedRows rows = ordered_rows(machine, order, row);
    copy_rows<kLanes>(machine, tile, tensor.at(batch, rows.token, head),
                      OrderedApart{order, tensor.row_stride()}, rows.owned == 0 ? 0 : Tile::kRows,
                      chunks, lane);
  } else {
    copy_rows<kLanes>(machine, tile, tensor.at(batch, row, head), RowsApart{tensor.row_stride()},
                      seqlen - row, chunks, lane);
  }
}

}  // namespace sparkbench::hopper
