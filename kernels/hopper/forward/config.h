// The forward kernel's tile sizes, and the shared memory that they ask for.
#pragma once

#include "kernels/hopper/block_plan.h"
#include "kernels/hopper/key_loader.h"
#include "kernels/hopper/output_rows.h"
#include "kernels/hopper/tile/swizzled_panels.h"

namespace sparkbench::hopper {

/// Keys of a block of the dropout mask (kernels/problem/dropout.h).
inline constexpr int kDropoutKeys = 64;

/// Chosen by time on an H100 and an H200 (ladder.md). Lists of patterns and runs have tiles of 64
/// keys.
constexpr BlockPlan forward_plan(int columns, Blocks blocks) {
  if (columns > 128) return {64, 2, 2, 232, 40};
  if (blocks == Blocks::kSparse || blocks == Blocks::kRuns) {
    if (columns <= 64) return {64, 4, 8, 112, 32};
    return {64, 3, blocks == Blocks::kRuns ? 4 : 3, 160, 32};
  }
  return columns > 64 ? BlockPlan{128, 2, 2, 240, 24} : BlockPlan{128, 3, 4, 160, 32};
}

template <class Config>
struct ForwardTiles;

template <int kColumns, Blocks kBlocks>
struct ForwardPlan {
  static constexpr BlockPlan kPlan = forward_plan(kColumns, kBlocks);
};

template <int kColumns, bool kDropout, int kLeastColumns, Blocks kBlocks = Blocks::kDense>
struct ForwardConfig : WarpgroupConfig<kColumns, kDropout, kLeastColumns, kBlocks>,
                       Planned<ForwardPlan<kColumns, kBlocks>> {
  static constexpr int kWarpgroups = ForwardConfig::Planned::kWarpgroups;
  static constexpr int kBlockM = kWarpgroupRows * kWarpgroups;
  /// Keys of a tile, whole blocks of the dropout mask.
  static constexpr int kBlockN = ForwardConfig::kPlan.tile_keys;
  /// Whether a warpgroup skips the half of a tile that it does not see.
  static constexpr bool kHalvesTiles = kBlockN == 2 * kDropoutKeys;
  /// Keys whose P is formed, and then multiplied by V, at once: chosen by time (ladder.md).
  static constexpr int kPartKeys = kDropout || kColumns <= 64 || kBlocks == Blocks::kRuns ? 32 : 64;
  static constexpr int kQueryTensors = 1;
  static constexpr int kRowsStages = kColumns <= 128 ? 2 : 1;
  using QueryTile = SwizzledPanels<kWarpgroupRows, kColumns>;
  using KeyTile = SwizzledPanels<kBlockN, kColumns>;
  using Tiles = ForwardTiles<ForwardConfig>;
};

/// All of a block's shared memory. Q's place becomes O's.
template <class Config>
struct ForwardTiles {
  struct Stage {
    typename Config::KeyTile k, v;
  };
  /// The next item's come before this one's have been used.
  typename Config::QueryTile q[Config::kRowsStages][Config::kWarpgroups];
  Stage stage[Config::kStages];
  KeyBarriers<Config> barriers;
};

}  // namespace sparkbench::hopper
