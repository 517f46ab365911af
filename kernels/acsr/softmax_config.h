// Blocks of R-softmax and of its gradient.
#pragma once

#include "kernels/acsr/rows.h"

namespace sparkbench::acsr {

/// kLanes lanes have a row, and keep kChunks chunks of it each in registers.
template <int kLanes, int kChunks, int kBlocks>
struct RowsConfig {
  static constexpr int kWarps = 8, kThreads = 32 * kWarps, kBlocksPerSm = kBlocks;
  static constexpr int kRowLanes = kLanes, kLaneChunks = kChunks;
  static constexpr int kPieceChunks = kRowLanes * kLaneChunks;  // that are read once
  static constexpr int kWarpRows = 32 / kRowLanes, kRows = kWarps * kWarpRows;
  static constexpr int kBlocksOfRows = kBlockRows / kRows;  // for each block of the products
  /// Rows are no longer than a piece.
  static constexpr bool kIsShort = kRowLanes < 32;
};

/// Rows of up to 2048 values are read once, and of the gradient up to 1024.
struct SoftmaxConfig : RowsConfig<32, 8, 3> {};
struct SoftmaxGradientConfig : RowsConfig<32, 4, 3> {};

/// Of a block of the products', the row that a lane's part `part` of it has.
template <class Config, class Machine>
SPARK_DEVICE int row_of_lane(const Machine& machine, int part) {
  const int of_part = Config::kWarpRows * machine.warp() + machine.lane() / Config::kRowLanes;
  return Config::kRows * part + of_part;
}

}  // namespace sparkbench::acsr
