// The backward kernels' tile sizes, and the shared memory that they need.
#pragma once

#include "kernels/hopper/backward/params.h"
#include "kernels/hopper/block_plan.h"
#include "kernels/hopper/key_loader.h"
#include "kernels/hopper/tile/swizzled_panels.h"

namespace sparkbench::hopper {

/// Chosen by time on an H100 (ladder.md).
constexpr BlockPlan backward_dq_plan(int columns) {
  if (columns > 128) return {64, 1, 2, 224, 64};
  if (columns > 64) return {64, 2, 3, 232, 40};
  return {64, 3, 3, 160, 32};
}
constexpr BlockPlan backward_plan(int columns) {
  if (columns > 128) return {64, 2, 2, 232, 40};
  if (columns > 64) return {64, 2, 2, 232, 40};
  return {64, 3, 3, 160, 32};
}

/// For the dK/dV kernel that also adds up dQ.
constexpr BlockPlan backward_sums_plan(int columns) {
  if (columns > 64) return {64, 2, 3, 240, 24};
  return {128, 2, 3, 240, 24};
}

template <int kColumns>
struct BackwardDqPlan {
  static constexpr BlockPlan kPlan = backward_dq_plan(kColumns);
};
template <int kColumns, bool kSums>
struct BackwardPlan {
  static constexpr BlockPlan kPlan = kSums ? backward_sums_plan(kColumns) : backward_plan(kColumns);
};

template <class Config>
struct BackwardDqTiles;

/// The dQ kernel, over blocks of queries.
template <int kColumns, bool kDropout, int kLeastColumns, Blocks kBlocks = Blocks::kDense>
struct BackwardDqConfig : WarpgroupConfig<kColumns, kDropout, kLeastColumns, kBlocks>,
                          Planned<BackwardDqPlan<kColumns>> {
  static constexpr int kWarpgroups = BackwardDqConfig::Planned::kWarpgroups;
  static constexpr int kBlockM = kWarpgroupRows * kWarpgroups;
  static constexpr int kBlockN = BackwardDqConfig::kPlan.tile_keys;
  static constexpr bool kHalvesTiles = false;
  /// Keys whose dS is formed, and then multiplied by K, at a time: chosen by time (ladder.md).
  static constexpr int kPartKeys = kDropout ? kBlockN : BackwardDqConfig::kProductDepth;
  static constexpr int kQueryTensors = 2;
  static constexpr int kRowsStages = kColumns <= 128 ? 2 : 1;
  using QueryTile = SwizzledPanels<kWarpgroupRows, kColumns>;
  using KeyTile = SwizzledPanels<kBlockN, kColumns>;
  using Tiles = BackwardDqTiles<BackwardDqConfig>;
};

/// dQ overlays Q.
template <class Config>
struct BackwardDqTiles {
  struct Stage {
    typename Config::KeyTile k, v;
  };
  typename Config::QueryTile q[Config::kRowsStages][Config::kWarpgroups];
  typename Config::QueryTile d_o[Config::kRowsStages][Config::kWarpgroups];
  Stage stage[Config::kStages];
  KeyBarriers<Config> barriers;
};

template <class Config>
struct BackwardTiles;

/// The dK/dV kernel, over blocks of keys. Above 128 columns two warpgroups share 64 keys, and each
/// has half of the columns of both.
template <int kColumns, bool kDropout, int kLeastColumns, Blocks kBlocks = Blocks::kDense,
          bool kSums = false>
struct BackwardConfig : WarpgroupConfig<kColumns, kDropout, kLeastColumns, kBlocks>,
                        Planned<BackwardPlan<kColumns, kSums>> {
  static constexpr int kWarpgroups = BackwardConfig::Planned::kWarpgroups;
  static constexpr int kColumnWarpgroups = kColumns > 128 ? 2 : 1;
  static constexpr int kKeyTiles = kWarpgroups / kColumnWarpgroups;
  static constexpr int kGradientColumns = kColumns / kColumnWarpgroups;
  static constexpr int kBlockKeys = kWarpgroupRows * kKeyTiles;
  static constexpr int kStep = BackwardConfig::kPlan.tile_keys;  // queries
  static constexpr int kRowsStages = !kSums && kColumns <= 128 ? 2 : 1;
  /// Queries whose P and dS are formed, and then multiplied, at a time, where dQ is not summed.
  static constexpr int kPartQueries = BackwardConfig::kProductDepth;
  static constexpr bool kLoaderDraws = kDropout;
  static constexpr int kQuerySteps = kStep / M16n8k16Layout::kStepKeys;
  /// Whether the row statistics for P are loaded before the products of S, which costs registers.
  static constexpr bool kLoadsOffsetsEarly = !kSums && kColumns <= 64 && !kDropout;
  /// Whether a mask compares with the end that crosses a tile, or has mask bits. With sums of dQ
  /// rows see many keys, few tiles are partial, and no register is to spare.
  static constexpr bool kMasksByEnds = !kSums;
  static_assert(kStep % 64 == 0, "blocks of the dropout mask are transposed whole");
  using KeyTile = SwizzledPanels<kWarpgroupRows, kColumns>;
  using QueryTile = SwizzledPanels<kStep, kColumns>;
  using Tiles = BackwardTiles<BackwardConfig>;

  /// Whether it adds up dQ too (dq_sums.h). Each warpgroup has 64 rows or 64 columns of a step's
  /// dQ, or all of it in turn.
  static constexpr bool kSumsDq = kSums;
  static constexpr int kScoreGradientStages = 2;
  static constexpr bool kSharesDqColumns = kColumns == kWarpgroups * kPanelColumns;
  static constexpr bool kSharesDqRows = kStep == kWarpgroups * kWarpgroupRows;
  static constexpr int kDqTurns = kSharesDqColumns || kSharesDqRows ? 1 : kWarpgroups;
  static constexpr int kDqColumns = kSharesDqColumns ? kPanelColumns : kColumns;
  using ScoreGradientTile = SwizzledPanels<kBlockKeys, kStep>;
  static_assert(!kSums || (kStep == kWarpgroupRows) != kSharesDqRows, "a product has 64 rows");
  static_assert(!kSums || kColumnWarpgroups == 1, "warpgroups have keys of their own");
};

/// dS of a block's keys, if dQ is added up too.
template <class Config, bool kSums = Config::kSumsDq>
struct ScoreGradients {};
template <class Config>
struct ScoreGradients<Config, true> {
  typename Config::ScoreGradientTile score_gradients[Config::kScoreGradientStages];
};
template <class Config, bool kSums = Config::kSumsDq>
struct ScoreGradientBarriers {};
template <class Config>
struct ScoreGradientBarriers<Config, true> {
  Mbarrier gradients_full[Config::kScoreGradientStages];
  Mbarrier gradients_empty[Config::kScoreGradientStages];
};

/// Barriers of each stage of Q and dO, and of a block's K and V.
template <class Config>
struct QueryBarriers : ScoreGradientBarriers<Config> {
  Mbarrier full[Config::kStages], empty[Config::kStages];
  Mbarrier rows_full[Config::kRowsStages], rows_empty[Config::kRowsStages];
};

/// dK and dV overlay K and V.
template <class Config>
struct BackwardTiles : ScoreGradients<Config> {
  struct Stage {
    typename Config::QueryTile q, d_o;
    StatisticsTile statistics[Config::kStep / StatisticsTile::kRows];
    /// Dropout as the loader's warps draw it (tile/dropout.h), each for 16 of 64 queries, for each
    /// tile of keys.
    std::uint32_t dropped[Config::kStep / kWarpgroupRows][Config::kKeyTiles][kWarpgroupWarps][32];
  };
  typename Config::KeyTile k[Config::kRowsStages][Config::kKeyTiles];
  typename Config::KeyTile v[Config::kRowsStages][Config::kKeyTiles];
  Stage stage[Config::kStages];
  QueryBarriers<Config> barriers;
};

}  // namespace sparkbench::hopper
