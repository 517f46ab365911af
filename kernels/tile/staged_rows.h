// A warp's share of the next tile, on its way from global to shared memory through registers: read
// long before it is needed, written when its place is free. Volta has no asynchronous copy.
#pragma once

#include <cstddef>

#include "kernels/half.h"
#include "kernels/host_device.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

/// Rows of a tensor, row_stride halves apart, of which the first `valid` exist.
struct TensorRows {
  const Half* first;
  int row_stride;
  int valid;

  /// The same tensor from `rows` further on.
  SPARK_HD TensorRows from(int rows) const {
    return {first + static_cast<std::ptrdiff_t>(rows) * row_stride, row_stride, valid - rows};
  }
};

/// The rows kRows / kWarps * warp and on, of a Tile that kWarps warps fill together: those of the
/// block, or of each of its kTeams teams. A Tile has kRows rows of kChunksPerRow chunks of 16
/// bytes and at(row, chunk); for places of a lane also lane_place(row, chunk).
template <class Tile, int kWarps, int kTeams = 1>
class StagedRows {
 public:
  static constexpr int kRows = Tile::kRows / kWarps;

  /// Rows that do not exist become zeros.
  template <class Machine>
  SPARK_DEVICE void load(Machine& machine, const TensorRows& rows) {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const int row = tile_row(machine, i);
      chunk_[i] = Bits128{};
      if (row < rows.valid) {
        chunk_[i] = machine.template load_global<Bits128>(
            rows.first + static_cast<std::ptrdiff_t>(row) * rows.row_stride +
            8 * column_chunk(machine));
      }
    }
  }

  /// Rows from the opaque address of this lane's first chunk: column_chunk() of first_row(),
  /// which is row `row` of `valid`.
  template <class Machine>
  SPARK_DEVICE void load_from_chunk(Machine& machine, const Half* chunk, int row_stride, int row,
                                    int valid) {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      chunk_[i] = Bits128{};
      if (row + kRowsAtOnce * i < valid) {
        chunk_[i] = machine.load_opaque_global(
            chunk + static_cast<std::ptrdiff_t>(kRowsAtOnce * i) * row_stride);
      }
    }
  }

  template <class Machine>
  SPARK_DEVICE void store(Machine& machine, Tile& tile) const {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      machine.store_shared(tile.at(tile_row(machine, i), column_chunk(machine)), chunk_[i]);
    }
  }

  /// The same from lane_place(), or as far from it as another tile is from this one.
  template <class Machine, class LanePlace>
  SPARK_DEVICE void store(Machine& machine, Tile& tile, const LanePlace& place) const {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      machine.store_shared(tile.at(place, kRowsAtOnce * i, 0), chunk_[i]);
    }
  }

  template <class Machine>
  SPARK_DEVICE static auto lane_place(Machine& machine) {
    return Tile::lane_place(first_row(machine), column_chunk(machine));
  }

  /// The first row of the tile that this lane copies a part of, and which.
  template <class Machine>
  SPARK_DEVICE static int first_row(Machine& machine) {
    return tile_row(machine, 0);
  }
  template <class Machine>
  SPARK_DEVICE static int column_chunk(Machine& machine) {
    return machine.lane() % Tile::kChunksPerRow;
  }

 private:
  static constexpr int kChunks = kRows * Tile::kChunksPerRow / 32;
  static constexpr int kRowsAtOnce = 32 / Tile::kChunksPerRow;
  static_assert(kRows % kRowsAtOnce == 0, "a warp copies whole rows");

  template <class Machine>
  SPARK_DEVICE static int tile_row(Machine& machine, int i) {
    const int warp = kTeams == 1 ? machine.warp() : machine.warp() % kWarps;
    return kRows * warp + kRowsAtOnce * i + machine.lane() / Tile::kChunksPerRow;
  }

  Bits128 chunk_[kChunks];
};

}  // namespace sparkbench
