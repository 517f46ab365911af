// Blocks of the chain's products on Hopper, and what they have in shared memory.
#pragma once

#include "kernels/acsr/rows.h"
#include "kernels/acsr/softmax_config.h"
#include "kernels/hopper/tile/swizzled_panels.h"
#include "kernels/machine/mma/wgmma.h"

namespace sparkbench::acsr::hopper {

using sparkbench::hopper::SwizzledPanels;

/// Two warpgroups, of 64 of a block's 128 rows or places each. Tiles come to a ring of kStages.
template <int kColumns, int kLeast>
struct ProductConfig {
  static_assert(kColumns == 64 || kColumns == 128, "rows of one panel or two");
  static constexpr int kHeadDim = kColumns, kLeastHeadDim = kLeast;
  static constexpr int kWarpgroups = kBlockRows / wgmma::kM;
  static constexpr int kThreads = 32 * wgmma::kWarps * kWarpgroups;
  static constexpr int kStages = 3;
  static constexpr int kBlocksPerSm = kColumns == 64 ? 3 : 2;  // by shared memory
};

/// R-SDDMM.
template <int kColumns, int kLeast>
struct ScoresConfig : ProductConfig<kColumns, kLeast> {};

template <class Config>
struct ScoresTiles {
  using Rows = SwizzledPanels<wgmma::kM, Config::kHeadDim>;
  using Keys = SwizzledPanels<kTileKeys, Config::kHeadDim>;

  Rows q[Config::kWarpgroups];
  Keys k[Config::kStages];
  SwizzledPanels<kBlockRows, kTileKeys> staged;  // scores, from accumulators to rows in memory
};

/// R-SpMM.
template <int kColumns, int kLeast>
struct OutputConfig : ProductConfig<kColumns, kLeast> {};

template <class Config>
struct OutputTiles {
  using Probabilities = SwizzledPanels<wgmma::kM, kTileKeys>;
  using Values = SwizzledPanels<kTileKeys, Config::kHeadDim>;
  using Output = SwizzledPanels<kBlockRows, Config::kHeadDim>;
  struct Stage {
    Probabilities p[Config::kWarpgroups];
    Values v;
  };
  union {
    Stage stage[Config::kStages];
    Output output;  // in the end
  };
};

/// R-SpMM with the transpose.
template <int kColumns, int kLeast>
struct KeyGradientConfig : ProductConfig<kColumns, kLeast> {
  static_assert(kBlockPlaces == kBlockRows, "a warpgroup has 64 places");
};

template <class Config>
struct KeyGradientTiles {
  /// A warpgroup's places are a panel.
  using Probabilities = SwizzledPanels<kTileRows, kBlockPlaces>;
  using Rows = SwizzledPanels<kTileRows, Config::kHeadDim>;
  using Output = SwizzledPanels<kBlockPlaces, Config::kHeadDim>;
  struct Stage {
    Probabilities values;
    Rows rows;
  };
  union {
    Stage stage[Config::kStages];
    Output output;  // in the end
  };
};

/// Of rows so short that a warp of their own would wait more than read: four are a warp's.
struct ShortSoftmaxConfig : RowsConfig<8, 5, 4> {};
struct ShortSoftmaxGradientConfig : RowsConfig<8, 5, 3> {};

/// Whether they serve a mask whose longest row has so many chunks.
constexpr bool has_short_rows(int most_chunks) {
  static_assert(ShortSoftmaxConfig::kPieceChunks == ShortSoftmaxGradientConfig::kPieceChunks);
  return most_chunks <= ShortSoftmaxConfig::kPieceChunks;
}

}  // namespace sparkbench::acsr::hopper
