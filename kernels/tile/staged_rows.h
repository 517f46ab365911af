// A warp's share of the next tile, staged from global to shared memory through registers: read long
// before it is needed, written when its buffer is free. Volta has no asynchronous copy.
#pragma once

#include <cstddef>

#include "kernels/base/half.h"
#include "kernels/base/host_device.h"
#include "kernels/machine/machine.h"

namespace sparkbench {

/// Rows of a tensor, row_stride elements apart, of which the first `valid` exist.
struct TensorRows {
  const Bits16* first;
  int row_stride;
  int valid;

  /// The same tensor from `rows` further on.
  SPARK_HD TensorRows from(int rows) const {
    return {first + static_cast<std::ptrdiff_t>(rows) * row_stride, row_stride, valid - rows};
  }
};

/// The rows kRows / kWarps * warp and on of a Tile that kWarps warps fill together: those of the
/// block, or of each of its kTeams teams. A Tile has kRows rows of kChunksPerRow chunks of 16
/// bytes, and at(row, chunk); for lane offsets also lane_place(row, chunk). kLanesPerRow lanes copy
/// that many chunks of a row at once, so that a lane has one or more chunks of each of its rows.
template <class Tile, int kWarps, int kTeams = 1>
class StagedRows {
 public:
  static constexpr int kRows = Tile::kRows / kWarps;
  static constexpr int kRowsAtOnce = 32 / Tile::kLanesPerRow;

  /// Chunks that a lane has of a row.
  static constexpr int kParts = Tile::kChunksPerRow / Tile::kLanesPerRow;

  /// Rows that do not exist become zeros, and the lane's last chunk of each unless `has_last`.
  template <class Machine>
  SPARK_DEVICE void load(Machine& machine, const TensorRows& rows, bool has_last = true) {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const int row = tile_row(machine, i);
      chunk_[i] = Bits128{};
      if (row < rows.valid && (!is_last(i) || has_last)) {
        chunk_[i] = machine.template load_global<Bits128>(
            rows.first + static_cast<std::ptrdiff_t>(row) * rows.row_stride +
            8 * (column_chunk(machine) + column_of(i)));
      }
    }
  }

  /// The same for two groups: the first half of the warp's rows are the tensor's first, the second
  /// half are `apart` rows further on.
  template <class Machine>
  SPARK_DEVICE void load_groups(Machine& machine, const TensorRows& rows, int apart,
                                bool has_last = true) {
    static_assert(kRows / 2 % kRowsAtOnce == 0, "a warp copies rows of one group at once");
    const int of_lane = machine.lane() / Tile::kLanesPerRow;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const bool is_of_second = row_of(i) >= kRows / 2;
      const int row = of_lane + row_of(i) + (is_of_second ? apart - kRows / 2 : 0);
      chunk_[i] = Bits128{};
      if (row < rows.valid && (!is_last(i) || has_last)) {
        chunk_[i] = machine.template load_global<Bits128>(
            rows.first + static_cast<std::ptrdiff_t>(row) * rows.row_stride +
            8 * (column_chunk(machine) + column_of(i)));
      }
    }
  }

  /// Rows from the opaque address of this lane's first chunk: column_chunk() of first_row(),
  /// which is row `row` of `valid`. Rows are row_stride elements apart.
  template <class Machine>
  SPARK_DEVICE void load_from_chunk(Machine& machine, const Bits16* chunk, int row_stride, int row,
                                    int valid, bool has_last = true) {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      chunk_[i] = Bits128{};
      if (row + row_of(i) < valid && (!is_last(i) || has_last)) {
        chunk_[i] = machine.load_opaque_global(
            chunk + static_cast<std::ptrdiff_t>(row_of(i)) * row_stride + 8 * column_of(i));
      }
    }
  }

  template <class Machine>
  SPARK_DEVICE void store(Machine& machine, Tile& tile) const {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      machine.store_shared(tile.at(tile_row(machine, i), column_chunk(machine) + column_of(i)),
                           chunk_[i]);
    }
  }

  /// The same from lane_place(), or from the same distance to it in another tile.
  template <class Machine, class LanePlace>
  SPARK_DEVICE void store(Machine& machine, Tile& tile, const LanePlace& place) const {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      machine.store_shared(tile.at(place, row_of(i), column_of(i)), chunk_[i]);
    }
  }

  template <class Machine>
  SPARK_DEVICE static auto lane_place(Machine& machine) {
    return Tile::lane_place(first_row(machine), column_chunk(machine));
  }

  /// The first row of the tile that this lane copies a part of, and its first and last chunk.
  template <class Machine>
  SPARK_DEVICE static int first_row(Machine& machine) {
    return tile_row(machine, 0);
  }
  /// The first row that the warp copies.
  template <class Machine>
  SPARK_DEVICE static int row_of_warp(Machine& machine) {
    return kRows * (kTeams == 1 ? machine.warp() : machine.warp() % kWarps);
  }
  template <class Machine>
  SPARK_DEVICE static int column_chunk(Machine& machine) {
    return machine.lane() % Tile::kLanesPerRow;
  }
  template <class Machine>
  SPARK_DEVICE static int last_column_chunk(Machine& machine) {
    return column_chunk(machine) + column_of(kParts - 1);
  }

 private:
  static constexpr int kChunks = kRows * Tile::kChunksPerRow / 32;
  static_assert(kRows % kRowsAtOnce == 0, "a warp copies whole rows");

  /// Row and chunk of the lane's i-th chunk, relative to its first.
  SPARK_HD static constexpr int row_of(int i) { return kRowsAtOnce * (i / kParts); }
  SPARK_HD static constexpr int column_of(int i) { return Tile::kLanesPerRow * (i % kParts); }
  SPARK_HD static constexpr bool is_last(int i) { return kParts > 1 && i % kParts == kParts - 1; }

  template <class Machine>
  SPARK_DEVICE static int tile_row(Machine& machine, int i) {
    return row_of_warp(machine) + row_of(i) + machine.lane() / Tile::kLanesPerRow;
  }

  Bits128 chunk_[kChunks];
};

}  // namespace sparkbench
