// The tile sizes of the fused backward kernel for windows (carried_kernel.h), and the shared memory
// that it needs.
#pragma once

#include "kernels/hopper/backward/params.h"
#include "kernels/hopper/block_plan.h"
#include "kernels/hopper/tile/swizzled_panels.h"
#include "kernels/machine/tensor_copy/tensor_map.h"

namespace sparkbench::hopper {

/// How many of each fit in shared memory.
struct CarriedRoom {
  int stages;  // steps of queries: Q and dO
  int steps;   // steps whose dQ is carried
  int keys;    // tiles of keys: K and V
};
/// Chosen by time on an H100 (ladder.md).
constexpr CarriedRoom carried_room(int columns) {
  if (columns > 80) return {2, 1, 3};
  if (columns > 64) return {2, 2, 3};
  return {4, 4, 4};
}

template <int kColumns>
struct CarriedPlan {
  static constexpr BlockPlan kPlan = {64, 2, carried_room(kColumns).stages, 240, 24};
};

template <class Config>
struct CarriedTiles;

/// Each warpgroup has 64 keys of its own, and 64 queries at a time.
template <int kColumns, bool kDropout, int kLeastColumns>
struct CarriedConfig : WarpgroupConfig<kColumns, kDropout, kLeastColumns, Blocks::kDense>,
                       Planned<CarriedPlan<kColumns>> {
  static constexpr int kColumnWarpgroups = 1, kKeyTiles = 1;
  // A warpgroup that waits for a step's visit made the visit before the last, so a phase's parity
  // names it.
  static_assert(CarriedConfig::kWarpgroups == 2, "tiles side by side are different warpgroups'");
  static constexpr int kGradientColumns = kColumns;
  static constexpr int kBlockKeys = kWarpgroupRows, kStep = CarriedConfig::kPlan.tile_keys;
  static_assert(kStep == kWarpgroupRows, "a step of queries is as long as a tile of keys");
  static constexpr int kRowsStages = carried_room(kColumns).keys;
  static constexpr int kCarriedSteps = carried_room(kColumns).steps;
  static constexpr bool kLoaderDraws = kDropout;
  static constexpr int kQuerySteps = kStep / M16n8k16Layout::kStepKeys;
  static constexpr bool kLoadsOffsetsEarly = false;
  static constexpr bool kMasksByEnds = kColumns <= 64;
  /// Whether registers are so short that thread-dependent indices are recomputed where they are
  /// used (machine/codegen.h).
  static constexpr bool kRecomputes = kColumns > 64;
  /// Most tiles of keys that a step may see. The first of them waits for the last tile of the step
  /// that had its stage, and its carried dQ, before. The same warpgroup, or the loader, must not
  /// come to that tile later: so the limits are one more than the stages, and two more than the
  /// carried steps.
  static constexpr int kMostVisits =
      CarriedConfig::kStages < kCarriedSteps + 1 ? CarriedConfig::kStages + 1 : kCarriedSteps + 2;
  /// Most tiles of keys of a short sequence, in which each step may see all tiles: so many steps
  /// have a stage at once, and all but one of them a carried dQ.
  static constexpr int kMostTiles =
      CarriedConfig::kStages < kCarriedSteps + 1 ? CarriedConfig::kStages : kCarriedSteps + 1;
  static_assert(kMostTiles <= kMostVisits, "what is drawn has room");
  /// Columns of dQ in one product.
  static constexpr int kDqColumns = kColumns > 96 ? kPanelColumns : kColumns;
  static constexpr int kDqParts = kColumns / kDqColumns;
  static_assert(kDqParts == 1 || kDqColumns == kPanelColumns, "parts are panels");
  using KeyTile = SwizzledPanels<kWarpgroupRows, kColumns>;
  using QueryTile = SwizzledPanels<kStep, kColumns>;
  using ScoreGradientTile = SwizzledPanels<kWarpgroupRows, kStep>;
  using Tiles = CarriedTiles<CarriedConfig>;
};

/// Barriers of each stage of Q and dO, each tile of keys, and each carried dQ. A stage's `visited`
/// ends a phase when a tile of keys has had its step.
template <class Config>
struct CarriedBarriers {
  Mbarrier full[Config::kStages], empty[Config::kStages], visited[Config::kStages];
  Mbarrier rows_full[Config::kRowsStages], rows_empty[Config::kRowsStages];
  Mbarrier dq_empty[Config::kCarriedSteps];
};

/// One product's columns of dQ of 64 queries: the sum over earlier keys, in the order of a
/// warpgroup's threads, 8 columns after the other; or its rows as elements, on their way to
/// global memory.
template <int kColumns>
union CarriedDq {
  Bits128 sums[kColumns / 8][32 * kWarpgroupWarps];
  SwizzledPanels<kWarpgroupRows, kColumns> rows;
};

/// The dropout masks that the loader's warps draw for a step (tile/dropout.h), each warp for 16 of
/// its queries, for each tile of keys that they see.
template <class Config, bool kDraws = Config::kLoaderDraws>
struct DrawnOfStep {};
template <class Config>
struct DrawnOfStep<Config, true> {
  std::uint32_t dropped[1][Config::kMostVisits][kWarpgroupWarps][32];
};

/// dK and dV overlay K and V.
template <class Config>
struct CarriedTiles {
  struct Stage : DrawnOfStep<Config> {
    typename Config::QueryTile q, d_o;
    StatisticsTile statistics[1];
  };
  typename Config::KeyTile k[Config::kRowsStages][1], v[Config::kRowsStages][1];
  Stage stage[Config::kStages];
  typename Config::ScoreGradientTile score_gradients[Config::kWarpgroups];
  CarriedDq<Config::kDqColumns> dq[Config::kCarriedSteps][Config::kDqParts];
  int phases_before[Config::kStages];  // how many `visited` had before the stage's step, modulo 2
  CarriedBarriers<Config> barriers;
};

}  // namespace sparkbench::hopper
