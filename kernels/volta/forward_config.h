// The forward kernel's tile sizes, and the shared memory that they ask for.
#pragma once

#include "kernels/tile/grid_matmul.h"
#include "kernels/tile/output_tile.h"
#include "kernels/tile/staged_rows.h"

namespace sparkbench::volta {

/// Warps of a block where an SM has 96 KiB of shared memory: two blocks an SM at head_dim 64, one
/// at 128, where a second copy of K and V would not fit.
constexpr int forward_warps(int head_dim) { return head_dim == 64 ? 4 : 8; }

/// Warps of a block where an SM has 64 KiB (Turing).
inline constexpr int kForwardWarpsOf64KiB = 4;

/// Query rows of a block.
constexpr int forward_block_rows(int head_dim) { return kWarpRows * forward_warps(head_dim); }

template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout,
          int kBlockWarps = forward_warps(kHeadDimension),
          Accumulator kOutputType = Accumulator::kFp32>
struct ForwardConfig {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  /// What O runs in over the key loop. FP16 is the paper's FP16-ACC.
  static constexpr Accumulator kOutput = kOutputType;
  static_assert(kOutput == Accumulator::kFp32 || kAccumulator == Accumulator::kFp16,
                "FP32 accumulators do not add to FP16 ones");
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr bool kHasDropout = kDropout;
  static constexpr int kWarps = kBlockWarps;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlockM = kWarpRows * kWarps;
  /// That 255 registers a thread and 96 KiB of shared memory allow.
  static constexpr int kBlocksPerSm = kHeadDim == 64 ? 2 : 1;
  /// Copies of K and V in shared memory. At head_dim 128 and eight warps there is room for two of
  /// 32 keys or one of 64, which asks less of the load-store unit (forward_one_buffer.h), but
  /// leaves FP16-ACC no registers to add its sums to an O in FP32.
  static constexpr int kBuffers = kHeadDim == 128 && kWarps == 8 && kAccumulator == kOutput ? 1 : 2;
  static constexpr int kBlockN = kHeadDim == 64 || kBuffers == 1 ? 64 : 32;
  static constexpr int kKeySteps = kBlockN / kGridColumns;
  /// With one buffer: steps whose P is formed before the block meets. That of the others overlaps
  /// with the products, but keeps scores and random bytes in registers.
  static constexpr int kEarlySteps = kHasDropout ? 3 : 2;
  /// Column groups of eight that a quad-pair holds of O.
  static constexpr int kOutputGroups = kHeadDim / kGridColumns;
  /// Of these, how many FP16 accumulators are in flight at once: registers bound them.
  static constexpr int kTileGroups = 4;
  using Layout = GridLayout<kAccumulator>;
  using QueryTile = SwizzledTile<kBlockM, kHeadDim>;
  using KeyTile = SwizzledTile<kBlockN, kHeadDim>;
  using StagedKeys = StagedRows<KeyTile, kWarps>;
};

/// All of a block's shared memory.
template <class Config, int kBuffers = Config::kBuffers>
struct ForwardTiles;

/// While a block works on one pair of K and V tiles, each warp
/// fills its rows of the other; until then these rows are that warp's own.
template <class Config>
struct ForwardTiles<Config, 2> {
  typename Config::QueryTile q;
  typename Config::KeyTile k[2], v[2];

  /// P of 16-row group g of a warp, in the rows of tile `buffer` that this warp will fill.
  SPARK_DEVICE ProbabilityTile<Config::kBlockN>* probabilities(int buffer, int warp, int g) {
    constexpr int kRows = Config::StagedKeys::kRows;
    static_assert(sizeof(ProbabilityTile<Config::kBlockN>) <=
                      sizeof(typename Config::KeyTile) / Config::kWarps,
                  "a warp's rows hold the probabilities of 16 of its queries");
    auto& tile = g == 0 ? v[buffer] : k[buffer];
    return reinterpret_cast<ProbabilityTile<Config::kBlockN>*>(tile.chunk[kRows * warp]);
  }

  /// O of 16-row group g of a warp, in the place of its Q.
  SPARK_DEVICE OutputTile<Config::kHeadDim>* output(int warp, int g) {
    auto* rows = q.chunk[kWarpRows * warp + kGridRows * g];
    return reinterpret_cast<OutputTile<Config::kHeadDim>*>(rows);
  }
};

/// Once a block has read its K tile, each warp's rows of it, which this warp will fill anew, are
/// that warp's own.
template <class Config>
struct ForwardTiles<Config, 1> {
  /// Keys whose P a warp's rows of the K tile hold, of its 32 queries.
  static constexpr int kPassKeys = 32;
  using Probabilities = ProbabilityTile<kPassKeys>;

  typename Config::QueryTile q;
  typename Config::KeyTile k, v;

  /// P of 16-row group g of a warp.
  SPARK_DEVICE Probabilities* probabilities(int warp, int g) {
    constexpr int kRows = Config::StagedKeys::kRows;
    static_assert(
        kRowGroups * sizeof(Probabilities) <= sizeof(typename Config::KeyTile) / Config::kWarps,
        "a warp's rows hold the probabilities of its queries");
    return reinterpret_cast<Probabilities*>(k.chunk[kRows * warp]) + g;
  }

  /// O of 16-row group g of a warp, in the place of its Q.
  SPARK_DEVICE OutputTile<Config::kHeadDim>* output(int warp, int g) {
    auto* rows = q.chunk[kWarpRows * warp + kGridRows * g];
    return reinterpret_cast<OutputTile<Config::kHeadDim>*>(rows);
  }
};

}  // namespace sparkbench::volta
