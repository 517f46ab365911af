// Rows of a tensor to a tile of shared memory, by asynchronous copies of 16 bytes.
#pragma once

#include "kernels/hopper/swizzled_panels.h"
#include "kernels/tile/chunked_view.h"

namespace sparkbench::hopper {

/// Rows of a tensor from `first` on, of which there are `rows` and which have `chunks`, to a tile;
/// what it has besides becomes zeros. Copied by kLanes threads, of which this is `lane`.
template <int kLanes, class Tile, class Machine, class Apart>
SPARK_DEVICE void copy_rows(Machine& machine, Tile& tile, const Half* first, const Apart& apart,
                            int rows, int chunks, int lane) {
  constexpr int kTileChunks = Tile::kRows * Tile::kChunksPerRow;
  if constexpr (kLanes % Tile::kChunksPerRow == 0) {
    constexpr int kApart = kLanes / Tile::kChunksPerRow;
    const int row = lane / Tile::kChunksPerRow, chunk = lane % Tile::kChunksPerRow;
    const Half* const of_lane = first + apart.halves_to(row) + kChunkHalves * chunk;
#pragma unroll
    for (int i = 0; i < Tile::kRows / kApart; ++i) {
      const int of_tile = row + kApart * i;
      machine.copy_async(tile.at(of_tile, chunk), of_lane + apart.halves_to(kApart * i),
                         of_tile < rows && chunk < chunks);
    }
  } else {
#pragma unroll 4
    for (int i = lane; i < kTileChunks; i += kLanes) {
      const int row = i / Tile::kChunksPerRow, chunk = i % Tile::kChunksPerRow;
      machine.copy_async(tile.at(row, chunk), first + apart.halves_to(row) + kChunkHalves * chunk,
                         row < rows && chunk < chunks);
    }
  }
}

}  // namespace sparkbench::hopper
