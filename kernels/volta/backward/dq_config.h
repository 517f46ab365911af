// Tile sizes of the dQ kernel, and the shared memory that it needs.
#pragma once

#include <type_traits>

#include "kernels/tile/staged_rows.h"
#include "kernels/tile/walk.h"
#include "kernels/volta/backward/columns.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/probability_tile.h"
#include "kernels/volta/tile/quartet_tile.h"

namespace sparkbench::volta {

/// Chunks of Q, or of dO, that a warp keeps in registers from tile to tile (kept_chunks.h).
constexpr int kept_query_chunks(int head_dim, Accumulator accumulator, bool has_dropout) {
  const bool is_fp32 = accumulator == Accumulator::kFp32;
  switch (head_dim) {
    case 32:
      return is_fp32 ? 4 : 3;
    case 80:
      return 10;
    case 96:
      return 12;
    case 128:
      return is_fp32 || has_dropout ? 8 : 6;
    case 256:
      return 6;
    default:
      return is_fp32 ? 0 : 4;
  }
}

/// Rows of a block, unless it is short.
constexpr int backward_dq_rows(int head_dim) { return head_dim <= 64 ? 128 : 64; }

/// Two blocks share an SM; above 128 columns one; of short blocks four.
template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout,
          int kLeastHeadDimension = kHeadDimension, int kRows = backward_dq_rows(kHeadDimension)>
struct BackwardDqConfig {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr int kLeastHeadDim = kLeastHeadDimension;
  static constexpr bool kIsPadded = kLeastHeadDim < kHeadDim;
  static constexpr bool kHasDropout = kDropout;
  using Walk = DenseWalk;
  static constexpr int kShortWindow = 0;  // above 0 of short blocks: short_blocks.h
  static constexpr bool kIsShort = kRows < backward_dq_rows(kHeadDim);
  static constexpr int kBlockM = kRows;
  static constexpr int kBlockN = 32;
  static constexpr int kKeptChunks = kept_query_chunks(kHeadDim, kAccumulator, kHasDropout);
  /// 80 columns do not halve: a warp has all of them, for the rows whose dS it forms.
  static constexpr bool kOwnsRows = kHeadDim == 80;
  static constexpr int kDqGroups = kOwnsRows ? 1 : kRowGroups;  // of 16 rows, of a warp's dQ
  using Columns = std::conditional_t<
      kOwnsRows, WholeRowDivision,
      std::conditional_t<kHeadDim == 96, HalfBlockDivision, ColumnDivision<kHeadDim>>>;
  static constexpr int kColumnWarps = kOwnsRows ? 1 : (kHeadDim + 63) / 64;  // that share dQ's rows
  static constexpr int kWarps = kBlockM / (kGridRows * kDqGroups) * kColumnWarps;
  static constexpr int kThreads = 32 * kWarps;
  /// Lines 3 to 6: how many warps share 16 rows, each with keys of its own, and how many groups of
  /// 16 rows a warp has.
  static constexpr int kScoreWarps = kWarps * kGridRows > kBlockM ? kWarps* kGridRows / kBlockM : 1;
  static constexpr int kScoreKeys = kBlockN / kScoreWarps;
  static constexpr int kKeySteps = kScoreKeys / kGridColumns;
  static constexpr int kScoreGroups = kBlockM / kGridRows * kScoreWarps / kWarps;
  /// Buffers of K and V: one if Q and dO leave no room for two.
  static constexpr int kBuffers = kHeadDim < 128 && !kIsShort ? 2 : 1;
  /// What 255 registers per thread and 96 KiB of shared memory allow.
  static constexpr int kBlocksPerSm = kIsShort ? 4 : kHeadDim <= 128 ? 2 : 1;
  /// Whether the key head replaces the head through the loop: faster by the cycle model than
  /// finding it for each tile.
  static constexpr bool kKeepsKeyHead = kHeadDim >= 128;
  using Layout = GridLayout<kAccumulator>;
  template <int kTileRows>
  using TileOf =
      std::conditional_t<kHeadDim == 80 || kHeadDim == 96, QuartetTile<kTileRows, kHeadDim>,
                         SwizzledTile<kTileRows, kHeadDim>>;
  using QueryTile = TileOf<kBlockM>;
  using KeyTile = TileOf<kBlockN>;
  using StagedQueries = StagedRows<QueryTile, kWarps>;
  using StagedKeys = StagedRows<KeyTile, kWarps>;
};

/// A warp's columns and rows of dQ, in the order of matmul_probabilities.
template <class Config>
using DqOfWarp =
    AccumulatorFragment<Accumulator::kFp32>[Config::kDqGroups][Config::Columns::kGroups];

/// Which 16-row groups and which columns of dQ a warp has.
template <class Config>
struct DqShare {
  int first_group, column_block;

  SPARK_DEVICE explicit DqShare(int warp)
      : first_group(Config::kDqGroups * (warp / Config::kColumnWarps)),
        column_block(warp % Config::kColumnWarps) {}
};

/// All of a block's shared memory. While a block works on one pair of K and V tiles, dS overlays
/// the other buffer, or V if there is only one.
template <class Config>
struct BackwardDqTiles {
  typename Config::QueryTile q, d_o;
  typename Config::KeyTile k[Config::kBuffers], v[Config::kBuffers];

  /// dS of a 16-row group of the block, over the tiles of `buffer`.
  SPARK_DEVICE ProbabilityTile<Config::kBlockN>* gradients(int buffer, int group) {
    using Tile = ProbabilityTile<Config::kBlockN>;
    if constexpr (Config::kBuffers == 1) return reinterpret_cast<Tile*>(&v[0]) + group;
    constexpr int kInKeys = sizeof(typename Config::KeyTile) / sizeof(Tile);
    static_assert(2 * kInKeys >= Config::kBlockM / kGridRows, "K and V make room for dS");
    return group < kInKeys ? reinterpret_cast<Tile*>(&k[buffer]) + group
                           : reinterpret_cast<Tile*>(&v[buffer]) + (group - kInKeys);
  }

  /// dQ of 16 rows and a warp's columns, over Q and dO.
  SPARK_DEVICE typename Config::Columns::Output* output(int warp, int g) {
    using Output = typename Config::Columns::Output;
    static_assert(Config::kWarps * Config::kDqGroups * sizeof(Output) <= sizeof q + sizeof d_o,
                  "Q and dO make room for dQ");
    return reinterpret_cast<Output*>(&q) + Config::kDqGroups * warp + g;
  }
};

}  // namespace sparkbench::volta
