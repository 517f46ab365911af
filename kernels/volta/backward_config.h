// The backward kernel's tile sizes, and the shared memory that they ask for.
#pragma once

#include "kernels/tile/output_tile.h"
#include "kernels/tile/probability_tile.h"
#include "kernels/tile/staged_rows.h"
#include "kernels/volta/backward_params.h"

namespace sparkbench::volta {

/// The warps of a block share each of its products in ways of their own:
///   S, dP     kScoreGroups times 16 queries and 32 keys a warp
///   dV, dK    kKeyShares times 32 keys and 64 columns of one of them a warp
///   dQ        32 queries and 32 columns a warp
template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout, bool kDq,
          int kStepQueries>
struct BackwardShape {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr bool kHasDropout = kDropout;
  static constexpr bool kComputesDq = kDq;
  static constexpr int kStep = kStepQueries;
  static constexpr int kBlockKeys = 64;
  static constexpr int kWarps = kHeadDim / 32 * (kStep / 32);
  static constexpr int kThreads = 32 * kWarps;
  /// That 255 registers a thread and 96 KiB of shared memory allow.
  static constexpr int kBlocksPerSm = kHeadDim == 64 ? 2 : 1;
  static constexpr int kScoreGroups = kBlockKeys / 32 * (kStep / kGridRows) / kWarps;
  static constexpr int kScoreSteps = 2;
  static constexpr int kKeyShares = 2 * (kBlockKeys / 32) * (kHeadDim / 64) / kWarps;
  static constexpr int kQueryShares = kStep / 32;  // of dQ
  using Layout = GridLayout<kAccumulator>;
  using KeyTile = SwizzledTile<kBlockKeys, kHeadDim>;
  using QueryTile = SwizzledTile<kStep, kHeadDim>;
  using StagedKeys = StagedRows<KeyTile, kWarps>;
  using StagedQueries = StagedRows<QueryTile, kWarps>;

  static_assert(kScoreGroups > 0 && kKeyShares > 0, "every warp has a share");
};

/// Where an SM has 96 KiB of shared memory.
template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout, bool kComputesDq>
struct BackwardConfig : BackwardShape<kAccumulator, kHeadDim, kHasDropout, kComputesDq, 64> {};

/// Queries of a step at head_dim 128 where an SM has 64 KiB (Turing).
inline constexpr int kBackwardStepOf64KiB = 32;

/// All of a block's shared memory: 48 KiB at head_dim 64, 80 KiB at 128.
template <class Config>
struct BackwardTiles {
  typename Config::KeyTile k, v;
  typename Config::QueryTile q, d_o;
  ProbabilityTile<Config::kBlockKeys> p[Config::kStep / kGridRows], ds[Config::kStep / kGridRows];

  /// dK or dV of a warp's 32 keys and 64 columns, 16 keys a tile, in the place of Q and dO.
  SPARK_DEVICE OutputTile<64>* output(int warp, int g) {
    static_assert(Config::kWarps * 2 * sizeof(OutputTile<64>) <= sizeof q + sizeof d_o,
                  "Q and dO make room for dK and dV");
    return reinterpret_cast<OutputTile<64>*>(&q) + 2 * warp + g;
  }
};

}  // namespace sparkbench::volta
