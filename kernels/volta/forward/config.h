// The forward kernel's tile sizes, and the shared memory that they need.
#pragma once

#include <type_traits>

#include "kernels/tile/probability_scale.h"
#include "kernels/tile/softmax.h"
#include "kernels/tile/staged_rows.h"
#include "kernels/tile/walk.h"
#include "kernels/volta/forward/cut_masks.h"
#include "kernels/volta/forward/early_steps.h"
#include "kernels/volta/tile/dense_tile.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/output_tile.h"
#include "kernels/volta/tile/shared_rows.h"

namespace sparkbench::volta {

/// Whether tiles have no padding beyond their columns (tile/dense_tile.h).
constexpr bool is_dense(int head_dim) { return head_dim == 80; }

/// Warps of a block on an SM with 96 KiB of shared memory: two blocks per SM up to head_dim 80, one
/// above, where a second copy of Q, K and V would not fit.
constexpr int forward_warps(int head_dim) { return head_dim <= 80 ? 4 : 8; }

/// Warps of a block on an SM with 64 KiB (Turing).
inline constexpr int kForwardWarpsOf64KiB = 4;

/// Warps that share 32 rows: each has at most 128 columns of O.
constexpr int forward_column_warps(int head_dim) { return head_dim <= 128 ? 1 : 2; }

/// Which schedule a kernel's loop over keys has (schedules.h).
enum class KeyLoop {
  kTwoBuffers,            // of K and V
  kOneBuffer,             // of K and V
  kHeldQueries,           // Q in registers (FA's Q_in_regs), two buffers of K and V
  kHeldQueriesOneBuffer,  // Q in registers, one buffer of K and V
  kPieces,                // halves of K and of V, two buffers for all four
};
constexpr bool has_one_buffer(KeyLoop loop) {
  return loop == KeyLoop::kOneBuffer || loop == KeyLoop::kHeldQueriesOneBuffer;
}
constexpr bool holds_queries(KeyLoop loop) {
  return loop == KeyLoop::kHeldQueries || loop == KeyLoop::kHeldQueriesOneBuffer;
}

/// The loop that loads the load-store unit least. At head_dim 64 Q is in registers; above, one tile
/// of 64 keys is preferred to two of 32, where shared memory has room for it. If warps share rows
/// there is only room for K and V in pieces.
constexpr KeyLoop forward_loop(int head_dim, int warps) {
  if (forward_column_warps(head_dim) > 1) return KeyLoop::kPieces;
  if (head_dim <= 64) return KeyLoop::kHeldQueries;
  return warps == 8 || is_dense(head_dim) ? KeyLoop::kOneBuffer : KeyLoop::kTwoBuffers;
}

/// By default with the loop over keys that long blocks have.
template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout,
          int kBlockWarps = forward_warps(kHeadDimension), int kLeastHeadDimension = kHeadDimension,
          KeyLoop kKeyLoop = forward_loop(kHeadDimension, kBlockWarps)>
struct ForwardConfig {
  /// What S accumulates in, and O over all keys.
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  /// The columns that are multiplied, and the fewest that tensors may have (padding.h).
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr int kLeastHeadDim = kLeastHeadDimension;
  static constexpr bool kIsPadded = kLeastHeadDim < kHeadDim;
  static constexpr bool kHasDropout = kDropout;
  using Walk = DenseWalk;
  static constexpr int kShortWindow = 0;  // above 0 of short blocks: short_blocks.h
  static constexpr int kWarps = kBlockWarps;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kColumnWarps = forward_column_warps(kHeadDim);
  static constexpr int kBlockM = kWarpRows * kWarps / kColumnWarps;
  /// Tiles of 64 columns, and not of more.
  static constexpr bool kIsNarrow = kHeadDim <= 64;
  static constexpr bool kIsDense = is_dense(kHeadDim);
  static constexpr KeyLoop kLoop = kKeyLoop;
  /// What 255 registers per thread and 96 KiB of shared memory allow: above 80 columns two blocks
  /// if only half of a tile's K or V is resident.
  static constexpr int kBlocksPerSm =
      kIsNarrow || kIsDense || (kLoop == KeyLoop::kPieces && kColumnWarps == 1) ? 8 / kWarps : 1;
  /// Whether a warp skips the masked half of a tile: in block-sparse kernels, and short blocks of
  /// 64 columns. Warps that share rows have one half each anyway.
  static constexpr bool kHasHalves = false;
  static constexpr int kBlockN = kLoop != KeyLoop::kTwoBuffers ? 64 : 32;
  /// Whether a warp's two groups of rows are half a block apart (as many rows as a tile has keys),
  /// not adjacent. If the mask then hides half of a tile's rows, each warp computes one group;
  /// otherwise half of the warps would compute both, and the others wait for them.
  static constexpr bool kSpreadsRows = false;
  /// The tile's keys, and the groups of rows, for which a warp has scores; groups from kFirstGroup
  /// on.
  static constexpr int kScoreKeys = kBlockN / kColumnWarps;
  static constexpr int kScoreGroups = kRowGroups, kFirstGroup = 0;
  static constexpr int kKeySteps = kScoreKeys / kGridColumns;
  /// Key steps exponentiated before P V starts (early_steps.h).
  template <ForwardWalk kWalk>
  static constexpr int kEarlyStepsOf = early_steps(kWalk).of(kAccumulator, kHeadDim, kHasDropout);
  static constexpr int kEarlySteps = kEarlyStepsOf<ForwardWalk::kLong>;
  /// How scores of a partial tile are hidden (cut_masks.h), and whether for all of its keys at
  /// once.
  template <ForwardWalk kWalk>
  static constexpr CutMask kCutMaskOf = cut_masks_of(kWalk).of(kAccumulator, kHeadDim, kHasDropout);
  static constexpr CutMask kCutMask = kCutMaskOf<ForwardWalk::kLong>;
  static constexpr bool kCutsWholeTiles = kLoop == KeyLoop::kPieces;
  /// Whether a register is left for the order of a head's blocks; otherwise each tile compares the
  /// parameter itself.
  static constexpr bool kKeepsTileOrder =
      !kHasDropout || kAccumulator == Accumulator::kFp16 || kHeadDim < 64 || kIsDense;
  /// Whether the dropout offset is loaded after the products of S instead of where the mask is
  /// drawn.
  static constexpr bool kAsksForOffsetEarly =
      kHasDropout && kLoop == KeyLoop::kOneBuffer && !kIsDense;
  /// Adds sync_warp() around the row maxima and after the first exponentials, and draws the dropout
  /// mask after the maxima, in kernels with Q in registers. Otherwise the compiler interleaves
  /// these, for which varlen kernels have too few registers.
  static constexpr bool kOrdersSoftmax = false;
  /// Groups of eight columns of O that a quad-pair holds.
  static constexpr int kOutputGroups = kHeadDim / kColumnWarps / kGridColumns;
  using Layout = GridLayout<kAccumulator>;
  using Scale = ProbabilityScale<kAccumulator>;
  template <int kRows>
  using Tile = std::conditional_t<kIsDense, DenseTile<kRows, kIsDense ? kHeadDim : 80>,
                                  SwizzledTile<kRows, kHeadDim>>;
  using QueryTile = Tile<kBlockM>;
  using KeyTile = Tile<kBlockN>;
  /// Includes the padding of a tile's rows.
  static constexpr int kTileColumns = 8 * QueryTile::kChunksPerRow;
  static_assert(kIsPadded || kTileColumns == kHeadDim, "no lane copies what is not there");
  using StagedKeys = StagedRows<KeyTile, kWarps>;
  /// Where registers allow, every lane keeps m and l of all its rows.
  using Rows =
      std::conditional_t<!kIsNarrow && !kIsDense && kLoop != KeyLoop::kTwoBuffers,
                         SharedRows<kAccumulator, Scale>, LaneRows<Layout, kRowGroups, Scale>>;
};

/// While a block works on one pair of K and V tiles, each warp fills its rows of the other; until
/// then these rows are that warp's own, for P.
template <class Config>
struct TwoBufferTiles {
  /// Keys whose P a warp stores at a time.
  static constexpr int kPassKeys = Config::kBlockN;
  using Probabilities = ProbabilityTile<kPassKeys>;

  typename Config::QueryTile q;
  typename Config::KeyTile k[2], v[2];

  /// P of 16-row group g of a warp, while the block works on tiles `buffer`.
  SPARK_DEVICE Probabilities* probabilities(int buffer, int warp, int /*pass*/, int g) {
    constexpr int kRows = Config::StagedKeys::kRows;
    static_assert(sizeof(Probabilities) <= sizeof(typename Config::KeyTile) / Config::kWarps,
                  "a warp's rows hold the probabilities of 16 of its queries");
    auto& tile = g == 0 ? v[buffer ^ 1] : k[buffer ^ 1];
    return reinterpret_cast<Probabilities*>(tile.from_row(kRows * warp));
  }
};

/// Once a block has read its K tile, the rows of it that a warp will refill are that warp's own,
/// for P of one chunk of keys after the other.
template <class Config>
struct OneBufferTiles {
  static constexpr int kPassKeys = 32;
  using Probabilities = ProbabilityTile<kPassKeys>;

  typename Config::QueryTile q;
  typename Config::KeyTile k[1], v[1];

  SPARK_DEVICE Probabilities* probabilities(int /*buffer*/, int warp, int /*pass*/, int g) {
    constexpr int kRows = Config::StagedKeys::kRows;
    static_assert(
        kRowGroups * sizeof(Probabilities) <= sizeof(typename Config::KeyTile) / Config::kWarps,
        "a warp's rows hold the probabilities of its queries");
    return reinterpret_cast<Probabilities*>(k[0].from_row(kRows * warp)) + g;
  }
};

/// One or two tiles of K and V. A warp's rows of Q hold its Q before the loop, P of its 32 queries
/// in the loop, and its O after it.
template <class Config>
struct HeldQueryTiles {
  static constexpr int kPassKeys = 32;
  static constexpr int kBuffers = has_one_buffer(Config::kLoop) ? 1 : 2;
  using Probabilities = ProbabilityTile<kPassKeys>;

  typename Config::KeyTile k[kBuffers], v[kBuffers];
  typename Config::QueryTile q;

  SPARK_DEVICE Probabilities* probabilities(int /*buffer*/, int warp, int pass, int g) {
    static_assert(Config::kBlockN / kPassKeys * kRowGroups * sizeof(Probabilities) <=
                      sizeof(typename Config::QueryTile) / Config::kWarps,
                  "a warp's queries leave room for its probabilities");
    return reinterpret_cast<Probabilities*>(q.from_row(kWarpRows * warp)) + kRowGroups * pass + g;
  }
};

/// Q, and two buffers that the pieces of a tile of 64 keys use in turn: K of the first half of the
/// columns, K of the others, V of the first half of each warp's scores, V of the others. While a
/// block works on a piece of V, the next piece's buffer holds P of its keys, each pair of warps
/// using the part that it refills. At first it also holds the row values that the two warps of a
/// pair exchange.
template <class Config>
struct PieceTiles {
  static constexpr int kPassKeys = 32;
  using Probabilities = ProbabilityTile<kPassKeys>;
  using KeyPiece = SwizzledTile<Config::kBlockN, Config::kHeadDim / 2>;
  using ValuePiece = SwizzledTile<kPassKeys, Config::kHeadDim>;
  /// A value for each row of a warp's 16-row groups at most, by lane, for each warp of a pair.
  struct RowValues {
    Bits64 of_lane[Config::kColumnWarps][32];
  };
  struct OwnPart {
    Probabilities p[kRowGroups];
  };
  struct SharedPart : OwnPart {
    RowValues rows;
  };
  using WarpsPart = std::conditional_t<Config::kColumnWarps == 1, OwnPart, SharedPart>;
  union Piece {
    KeyPiece k;
    ValuePiece v;
  };

  typename Config::QueryTile q;
  Piece piece[2];

  /// The part of the free buffer that belongs to the warps that share rows, while the block works
  /// on V of `part`.
  SPARK_DEVICE WarpsPart& part_of_pair(int part, int pair) {
    constexpr int kBytes = Config::kColumnWarps * sizeof(Piece) / Config::kWarps;
    static_assert(sizeof(WarpsPart) <= kBytes,
                  "a pair's rows hold the probabilities of its queries");
    auto* const bytes = reinterpret_cast<unsigned char*>(&piece[part ^ 1]);
    return *reinterpret_cast<WarpsPart*>(bytes + kBytes * pair);
  }
};

/// All of a block's shared memory.
template <class Config>
using ForwardTiles = std::conditional_t<
    Config::kLoop == KeyLoop::kTwoBuffers, TwoBufferTiles<Config>,
    std::conditional_t<Config::kLoop == KeyLoop::kOneBuffer, OneBufferTiles<Config>,
                       std::conditional_t<Config::kLoop == KeyLoop::kPieces, PieceTiles<Config>,
                                          HeldQueryTiles<Config>>>>;

/// A warp's columns of O for 16-row group g, over Q of its rows.
template <class Config>
using WarpOutputTile =
    std::conditional_t<Config::kIsDense, typename Config::template Tile<kGridRows>,
                       OutputTile<Config::kTileColumns / Config::kColumnWarps>>;
template <class Config>
SPARK_DEVICE WarpOutputTile<Config>& output_tile(typename Config::QueryTile& q, int warp, int g) {
  auto* rows =
      q.from_row(kWarpRows / Config::kColumnWarps * warp + kGridRows / Config::kColumnWarps * g);
  return *reinterpret_cast<WarpOutputTile<Config>*>(rows);
}

}  // namespace sparkbench::volta
