// The backward kernels' tile sizes, and the shared memory that they ask for.
#pragma once

#include "kernels/hopper/block_plan.h"
#include "kernels/hopper/key_loader.h"
#include "kernels/hopper/swizzled_panels.h"
#include "kernels/tile/row_statistics.h"

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

template <int kColumns>
struct BackwardDqPlan {
  static constexpr BlockPlan kPlan = backward_dq_plan(kColumns);
};
template <int kColumns>
struct BackwardPlan {
  static constexpr BlockPlan kPlan = backward_plan(kColumns);
};

template <class Config>
struct BackwardDqTiles;

/// dQ of blocks of queries.
template <int kColumns, bool kDropout, int kLeastColumns, Blocks kBlocks = Blocks::kDense>
struct BackwardDqConfig : WarpgroupConfig<kColumns, kDropout, kLeastColumns, kBlocks>,
                          Planned<BackwardDqPlan<kColumns>> {
  static constexpr int kWarpgroups = BackwardDqConfig::Planned::kWarpgroups;
  static constexpr int kBlockM = kWarpgroupRows * kWarpgroups;
  static constexpr int kBlockN = BackwardDqConfig::kPlan.tile_keys;
  static constexpr int kKeySteps = kBlockN / M16n8k16Layout::kStepKeys;
  static constexpr int kQueryTensors = 2;
  static constexpr int kRowsStages = kColumns <= 128 ? 2 : 1;
  using QueryTile = SwizzledPanels<kWarpgroupRows, kColumns>;
  using KeyTile = SwizzledPanels<kBlockN, kColumns>;
  using Tiles = BackwardDqTiles<BackwardDqConfig>;
};

/// Q's place becomes dQ's.
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

/// dK and dV of blocks of keys. Above 128 columns two warpgroups share 64 keys, and each has half
/// of the columns of both.
template <int kColumns, bool kDropout, int kLeastColumns, Blocks kBlocks = Blocks::kDense>
struct BackwardConfig : WarpgroupConfig<kColumns, kDropout, kLeastColumns, kBlocks>,
                        Planned<BackwardPlan<kColumns>> {
  static constexpr int kWarpgroups = BackwardConfig::Planned::kWarpgroups;
  static constexpr int kColumnWarpgroups = kColumns > 128 ? 2 : 1;
  static constexpr int kKeyTiles = kWarpgroups / kColumnWarpgroups;
  static constexpr int kGradientColumns = kColumns / kColumnWarpgroups;
  static constexpr int kBlockKeys = kWarpgroupRows * kKeyTiles;
  static constexpr int kStep = BackwardConfig::kPlan.tile_keys;  // queries
  static constexpr int kRowsStages = kColumns <= 128 ? 2 : 1;
  static constexpr bool kLoaderDraws = kDropout;
  static constexpr int kQuerySteps = kStep / M16n8k16Layout::kStepKeys;
  static_assert(kStep == 64, "a block of the dropout mask is transposed whole");
  using KeyTile = SwizzledPanels<kWarpgroupRows, kColumns>;
  using QueryTile = SwizzledPanels<kStep, kColumns>;
  using Tiles = BackwardTiles<BackwardConfig>;
};

/// Of a stage of Q and dO, and of all of a block's keys.
template <class Config>
struct QueryBarriers {
  Mbarrier full[Config::kStages], empty[Config::kStages];
  Mbarrier rows_full[Config::kRowsStages], rows_empty[Config::kRowsStages];
};

/// K's and V's places become dK's and dV's.
template <class Config>
struct BackwardTiles {
  struct Stage {
    typename Config::QueryTile q, d_o;
    RowStatistics statistics[Config::kStep];
    /// As the loader's warps draw them (tile/dropout.h), each of 16 queries, for each tile of keys.
    std::uint32_t dropped[Config::kKeyTiles][kWarpgroupWarps][32];
  };
  typename Config::KeyTile k[Config::kRowsStages][Config::kKeyTiles];
  typename Config::KeyTile v[Config::kRowsStages][Config::kKeyTiles];
  Stage stage[Config::kStages];
  QueryBarriers<Config> barriers;
};

}  // namespace sparkbench::hopper
