// Rows of a tensor to a tile of shared memory, by asynchronous copies of 16 bytes.
#pragma once

#include <cstddef>

#include "kernels/hopper/tile/swizzled_panels.h"
#include "kernels/machine/machine.h"
#include "kernels/tile/chunked_view.h"

namespace sparkbench::hopper {

/// kRowLanes chunks of rows of a tensor, from first_chunk on.
template <int kLanes, int kRowLanes, class Tile, class Machine>
SPARK_DEVICE void copy_column(Machine& machine, Tile& tile, const Bits16* first, int row_stride,
                              int rows, int first_chunk, int chunks, int lane) {
  constexpr int kApart = kLanes / kRowLanes, kSteps = Tile::kRows / kApart;
  const int row = spread_row(lane / kRowLanes, kRowLanes);
  const int chunk = first_chunk + lane % kRowLanes;
  const std::ptrdiff_t step = static_cast<std::ptrdiff_t>(kApart) * row_stride;
  const Bits16* const of_lane =
      first + static_cast<std::ptrdiff_t>(row) * row_stride + kChunkHalves * chunk;
  const bool has_chunk = chunk < chunks;
  const auto copy = [&](auto exists) {
    const Bits16* from = of_lane;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const int of_tile = row + kApart * i;
      machine.copy_async(tile.at(of_tile, chunk), from, has_chunk && exists(of_tile));
      if (i + 1 < kSteps) from += step;
    }
  };
  if (rows >= Tile::kRows) {
    copy([](int /*row*/) { return true; });
  } else {
    copy([&](int of_tile) { return of_tile < rows; });
  }
}

/// Copies `rows` rows of `chunks` chunks from `first` on, row_stride elements apart, to a tile; the
/// rest of the tile becomes zeros. By kLanes threads, of which this is `lane`.
template <int kLanes, class Tile, class Machine>
SPARK_DEVICE void copy_rows(Machine& machine, Tile& tile, const Bits16* first, int row_stride,
                            int rows, int chunks, int lane) {
  constexpr int kRest = Tile::kChunksPerRow % kPanelChunks, kWhole = Tile::kChunksPerRow - kRest;
  if constexpr (kWhole > 0) {
    constexpr bool kIsPower = (kWhole & (kWhole - 1)) == 0;
    constexpr int kRowLanes = kIsPower ? kWhole : kPanelChunks;
#pragma unroll
    for (int chunk = 0; chunk < kWhole; chunk += kRowLanes) {
      copy_column<kLanes, kRowLanes>(machine, tile, first, row_stride, rows, chunk, chunks, lane);
    }
  }
  if constexpr (kRest > 0) {
    copy_column<kLanes, kRest>(machine, tile, first, row_stride, rows, kWhole, chunks, lane);
  }
}

}  // namespace sparkbench::hopper
