// Blocks of the three kernels, and what they have in shared memory.
#pragma once

#include "kernels/baselines/acsr/rows.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/output_tile.h"
#include "kernels/volta/tile/transposed_product.h"

namespace sparkbench::acsr {

/// Eight warps: four have 32 rows each, two share these, by keys or by columns.
template <int kColumns, int kLeast>
struct ProductConfig {
  static_assert(kColumns == 64 || kColumns == 128, "rows of 8 or 16 chunks");
  static constexpr int kHeadDim = kColumns, kLeastHeadDim = kLeast;
  static constexpr int kRowWarps = kBlockRows / kWarpRows, kShares = 2;
  static constexpr int kWarps = kRowWarps * kShares, kThreads = 32 * kWarps;
  static constexpr int kRowChunks = kColumns / 8;
};

/// R-SDDMM. A warp has the scores of 32 of a tile's 64 keys.
template <int kColumns, int kLeast>
struct ScoresConfig : ProductConfig<kColumns, kLeast> {
  static constexpr int kWarpKeys = kTileKeys / 2;
  static constexpr int kBlocksPerSm = kColumns == 64 ? 2 : 1;  // by registers
};

/// R-SpMM. A warp has half of O's columns.
template <int kColumns, int kLeast>
struct OutputConfig : ProductConfig<kColumns, kLeast> {
  static constexpr int kWarpColumns = kColumns / 2;
  static constexpr int kBlocksPerSm = kColumns == 64 ? 2 : 1;  // by registers
};

/// R-SpMM with the transpose. A warp has 64 of a block's 128 places and 32 columns.
template <int kColumns, int kLeast>
struct KeyGradientConfig {
  static constexpr int kHeadDim = kColumns, kLeastHeadDim = kLeast;
  static constexpr int kColumnWarps = kColumns / 32;
  static constexpr int kWarps = kBlockPlaces / kTransposedKeys * kColumnWarps;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kRowChunks = kColumns / 8;
  static constexpr int kBlocksPerSm = kColumns == 64 ? 3 : 1;  // by registers
};

/// 16 rows of 32 scores in the order of keys: from accumulators to rows of a tensor. The
/// permutation keeps the stores of a pair and the loads of whole rows free of bank conflicts.
struct StagedScores {
  static constexpr int kChunks = 4;

  Bits128 chunk[kGridRows][kChunks];

  SPARK_HD Bits128* at(int row, int column_chunk) {
    return &chunk[row][column_chunk ^ ((row >> 2) & 3)];
  }
  SPARK_HD std::uint32_t* pair(int row, int column_chunk, int word) {
    return at(row, column_chunk)->word + word;
  }
};

template <class Config>
struct ScoresTiles {
  SwizzledTile<kBlockRows, Config::kHeadDim> q;
  SwizzledTile<Config::kWarpKeys, Config::kHeadDim> k[Config::kShares];
  StagedScores staged[Config::kWarps];
};

/// `o` overlays `p` at the end.
template <class Config>
struct OutputTiles {
  SwizzledTile<kBlockRows, kTileKeys> p;
  SwizzledTile<kTileKeys, Config::kHeadDim> v;

  /// 16 rows of a warp's columns; rows of 64 even if it has 32, as the permutation wants.
  SPARK_DEVICE OutputTile<64>& o(int warp) {
    static_assert(sizeof(OutputTile<64>) * Config::kWarps == sizeof(p), "one for each warp");
    return reinterpret_cast<OutputTile<64>*>(&p)[warp];
  }
};

/// Addresses of a ProbabilityTile, with another order of keys. The output overlays `values`.
template <class Config>
struct KeyGradientTiles {
  ProbabilityTile<kTransposedKeys> values[kBlockPlaces / kTransposedKeys][kTileRows / kGridRows];
  SwizzledTile<kTileRows, Config::kHeadDim> rows;

  SPARK_DEVICE OutputTile<64>& output(int warp) {
    static_assert(sizeof(OutputTile<64>) * Config::kWarps <= sizeof(values), "one for each warp");
    return reinterpret_cast<OutputTile<64>*>(&values)[warp];
  }
};

}  // namespace sparkbench::acsr
