// A tile of rows in shared memory as wgmma reads it with a swizzle of 128 bytes (PTX ISA,
// "Asynchronous warpgroup level matrix shared memory layout"): panels of 64 columns, a row of a
// panel being 128 bytes of which chunk c lies where chunk c XOR (row mod 8) would. One layout
// serves K, whose columns are the product's k, and V, whose rows are.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/machine/machine.h"
#include "kernels/machine/mma/operand.h"

namespace sparkbench::hopper {

inline constexpr int kPanelColumns = 64;
inline constexpr int kPanelChunks = 8;  // of 16 bytes, in a row of a panel
inline constexpr int kSwizzleRows = 8;
inline constexpr int kSwizzleBytes = kSwizzleRows * 128;  // of an atom, 8 rows of a panel

/// Whether the product's k dimension is the columns of such a tile, or its rows.
inline constexpr Major kColumnsAreK = Major::kColumn, kRowsAreK = Major::kRow;
/// The same where the tile is A.
inline constexpr Major kRowsAreKOfA = Major::kColumn;

template <int kTileRows, int kTileColumns>
struct alignas(1024) SwizzledPanels {
  static constexpr int kRows = kTileRows;
  static constexpr int kChunksPerRow = kTileColumns / 8;
  static constexpr int kPanels = (kTileColumns + kPanelColumns - 1) / kPanelColumns;
  static constexpr int kPanelBytes = kTileRows * 128;

  Bits128 chunk[kPanels][kTileRows][kPanelChunks];

  SPARK_HD Bits128* at(int row, int column_chunk) {
    const int place = (column_chunk ^ row) & (kPanelChunks - 1);
    return &chunk[column_chunk / kPanelChunks][row][place];
  }
  SPARK_HD const Bits128* at(int row, int column_chunk) const {
    return const_cast<SwizzledPanels*>(this)->at(row, column_chunk);
  }
};

/// The i-th row that lanes copy of a tile with `lanes` (2, 4, 8, ...) lanes a row, in an order in
/// which the rows that eight lanes have at once are in different banks.
SPARK_HD constexpr int spread_row(int i, int lanes) {
  if (lanes >= kPanelChunks) return i;
  const int at_once = kPanelChunks / lanes;
  return i / kSwizzleRows * kSwizzleRows + i % at_once * lanes + i % kSwizzleRows / at_once;
}

/// The increment of a matrix descriptor for an operand that begins `bytes` further.
SPARK_HD constexpr std::uint64_t descriptor_step(int bytes) {
  return static_cast<std::uint64_t>(bytes) >> 4;
}
/// The offset of column 16 * step of a tile.
template <class Tile>
SPARK_HD constexpr std::uint64_t columns_step(int step) {
  constexpr int kSteps = kPanelColumns / 16;
  return descriptor_step(step / kSteps * Tile::kPanelBytes + step % kSteps * 32);
}
/// The offset of row 16 * step.
SPARK_HD constexpr std::uint64_t rows_step(int step) { return descriptor_step(step * 16 * 128); }

/// A tile as an operand whose columns are k.
template <class Machine, class Tile>
SPARK_DEVICE std::uint64_t describe_rows(const Machine& machine, const Tile& tile) {
  return machine.describe_matrix(&tile, 16, kSwizzleBytes);
}
/// A tile as an operand B whose rows are k.
template <class Machine, class Tile>
SPARK_DEVICE std::uint64_t describe_columns(const Machine& machine, const Tile& tile) {
  return machine.describe_matrix(&tile, Tile::kPanelBytes, kSwizzleBytes);
}

}  // namespace sparkbench::hopper
