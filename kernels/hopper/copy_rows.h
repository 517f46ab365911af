// Rows of a tensor to a tile of shared memory, by asynchronous copies of 16 bytes.
#pragma once

#include <cstddef>

#include "kernels/hopper/tile/swizzled_panels.h"
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

/// kRowLanes chunks of rows of a tensor, from first_chunk on.
template <int kLanes, int kRowLanes, class Tile, class Machine, class Apart>
SPARK_DEVICE void copy_column(Machine& machine, Tile& tile, const Half* first, const Apart& apart,
                              int rows, int first_chunk, int chunks, int lane) {
  constexpr int kApart = kLanes / kRowLanes, kSteps = Tile::kRows / kApart;
  const int row = spread_row(lane / kRowLanes, kRowLanes);
  const int chunk = first_chunk + lane % kRowLanes;
  const RowSteps<kApart, kSteps> steps(apart);
  const Half* const of_lane = first + apart.halves_to(row) + kChunkHalves * chunk;
  const bool has_chunk = chunk < chunks;
  const auto copy = [&](auto exists) {
    const Half* from = of_lane;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int of_tile = row + kApart * i;
      machine.copy_async(tile.at(of_tile, chunk), from, has_chunk && exists(of_tile));
      if (i + 1 < kSteps) from += steps.behind(i);
    }
  };
  if (rows >= Tile::kRows) {
    copy([](int /*row*/) { return true; });
  } else {
    copy([&](int of_tile) { return of_tile < rows; });
  }
}

/// Rows of a tensor from `first` on, of which there are `rows` and which have `chunks`, to a tile;
/// what it has besides becomes zeros. Copied by kLanes threads, of which this is `lane`.
template <int kLanes, class Tile, class Machine, class Apart>
SPARK_DEVICE void copy_rows(Machine& machine, Tile& tile, const Half* first, const Apart& apart,
                            int rows, int chunks, int lane) {
  constexpr int kRest = Tile::kChunksPerRow % kPanelChunks, kWhole = Tile::kChunksPerRow - kRest;
  if constexpr (kWhole > 0) {
    constexpr bool kIsPower = (kWhole & (kWhole - 1)) == 0;
    constexpr int kRowLanes = kIsPower ? kWhole : kPanelChunks;
#pragma unroll
    for (int chunk = 0; chunk < kWhole; chunk += kRowLanes) {
      copy_column<kLanes, kRowLanes>(machine, tile, first, apart, rows, chunk, chunks, lane);
    }
  }
  if constexpr (kRest > 0) {
    copy_column<kLanes, kRest>(machine, tile, first, apart, rows, kWhole, chunks, lane);
  }
}

}  // namespace sparkbench::hopper
