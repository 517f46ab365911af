// Blocks of the row-wise backward kernels (rows.h), and their shared memory.
#pragma once

#include "kernels/tile/walk.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/output_tile.h"

namespace sparkbench::volta {

/// Rows of a block, all of one head; a warp has 16 of them. The kernels are memory-bound, so that
/// one serves every head_dim of a tile.
template <Accumulator kAccumulatorType, int kHeadDimension, int kLeastHeadDimension>
struct BackwardRowsShape {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr int kLeastHeadDim = kLeastHeadDimension;
  static constexpr bool kIsPadded = kLeastHeadDim < kHeadDim;
  using Walk = DenseWalk;
  static constexpr int kBlockM = 64;
  static constexpr int kWarps = kBlockM / kGridRows;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlocksPerSm = kHeadDim <= 128 ? 6 : 3;  // by registers of a row of dQ
};

/// A block's shared memory where dQ is rounded.
template <class Config>
struct RoundDqTiles {
  OutputTile<Config::kHeadDim> of_warp[Config::kWarps];
};

}  // namespace sparkbench::volta
