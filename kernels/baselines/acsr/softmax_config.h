// Blocks of R-softmax and of its gradient.
#pragma once

#include "kernels/baselines/acsr/rows.h"

namespace sparkbench::acsr {

/// A warp has a row. Each lane keeps kChunks chunks of it in registers.
template <int kChunks>
struct RowsConfig {
  static constexpr int kWarps = 8, kThreads = 32 * kWarps, kBlocksPerSm = 3;
  static constexpr int kRows = kWarps, kLaneChunks = kChunks;
  static constexpr int kPieceChunks = 32 * kLaneChunks;     // that are read once
  static constexpr int kBlocksOfRows = kBlockRows / kRows;  // for each block of the products
};

/// Rows of up to 2048 values are read once, and of the gradient up to 1024.
struct SoftmaxConfig : RowsConfig<8> {};
struct SoftmaxGradientConfig : RowsConfig<4> {};

/// The row that a warp has in part `part` of a block of the products.
template <class Config, class Machine>
SPARK_DEVICE int row_of_warp(const Machine& machine, int part) {
  return Config::kRows * part + machine.warp();
}

}  // namespace sparkbench::acsr
