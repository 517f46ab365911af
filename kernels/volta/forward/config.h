// The forward kernel's tile sizes, and the shared memory that they ask for.
#pragma once

#include <type_traits>

#include "kernels/tile/probability_scale.h"
#include "kernels/tile/softmax.h"
#include "kernels/tile/staged_rows.h"
#include "kernels/volta/forward/cut_masks.h"
#include "kernels/volta/forward/early_steps.h"
#include "kernels/volta/tile/dense_tile.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/output_tile.h"
#include "kernels/volta/tile/shared_rows.h"

namespace sparkbench::volta {

/// Whether tiles have no more room than their columns (tile/dense_tile.h).
constexpr bool is_dense(int head_dim) { return head_dim == 80; }

/// Warps of a block where an SM has 96 KiB of shared memory: two blocks an SM up to head_dim 80,
/// one above, where a second copy of Q, K and V would not fit.
constexpr int forward_warps(int head_dim) { return head_dim <= 80 ? 4 : 8; }

/// Warps of a block where an SM has 64 KiB (Turing).
inline constexpr int kForwardWarpsOf64KiB = 4;

/// Warps that share 32 rows: what one of them has of O is at most 128 columns.
constexpr int forward_column_warps(int head_dim) { return head_dim <= 128 ? 1 : 2; }

/// Query rows of a block.
constexpr int forward_block_rows(int head_dim) {
  return kWarpRows * forward_warps(head_dim) / forward_column_warps(head_dim);
}

/// Which schedule a kernel's loop over keys has (schedules.h).
enum class KeyLoop {
  kTwoBuffers,            // of K and V
  kOneBuffer,             // of K and V
  kHeldQueries,           // two buffers of K and V, Q in registers
  kHeldQueriesOneBuffer,  // one of each, Q in registers
  kPieces,                // halves of K and of V, two buffers for all four
};
constexpr bool has_one_buffer(KeyLoop loop) {
  return loop == KeyLoop::kOneBuffer || loop == KeyLoop::kHeldQueriesOneBuffer;
}
constexpr bool holds_queries(KeyLoop loop) {
  return loop == KeyLoop::kHeldQueries || loop == KeyLoop::kHeldQueriesOneBuffer;
}

/// What asks least of the load-store unit: at head_dim 64 Q in registers; above, where shared
/// memory has room for two tiles of 32 keys or one of 64, the latter. Where warps share rows K and
/// V come in pieces, since there is no room for more.
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
  static constexpr bool kIsPacked = false;
  static constexpr bool kIsSparse = false;
  static constexpr int kShortWindow = 0;  // above 0 of short blocks: short_blocks.h
  static constexpr int kWarps = kBlockWarps;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kColumnWarps = forward_column_warps(kHeadDim);
  static constexpr int kBlockM = kWarpRows * kWarps / kColumnWarps;
  /// Tiles of 64 columns, and not of more.
  static constexpr bool kIsNarrow = kHeadDim <= 64;
  static constexpr bool kIsDense = is_dense(kHeadDim);
  static constexpr KeyLoop kLoop = kKeyLoop;
  /// That 255 registers a thread and 96 KiB of shared memory allow: above 80 columns two where
  /// half of a tile's K or V is at hand, and not more.
  static constexpr int kBlocksPerSm =
      kIsNarrow || kIsDense || (kLoop == KeyLoop::kPieces && kColumnWarps == 1) ? 8 / kWarps : 1;
  /// Whether a warp computes one half of a tile of which it sees no other: of patterns, and of
  /// short blocks of 64 columns. Where warps share rows each has one half as it is.
  static constexpr bool kHasHalves = false;
  static constexpr int kBlockN = kLoop != KeyLoop::kTwoBuffers ? 64 : 32;
  /// Whether a warp's two groups of rows are half a block apart, which is as far as a tile has
  /// keys, rather than side by side. Of a tile that the mask hides from half of the rows each warp
  /// then computes one group, where else half of the warps compute both, and the others wait for
  /// them.
  static constexpr bool kSpreadsRows = false;
  /// Those of a tile whose scores a warp has, and the groups of rows that it has them of, of its
  /// kRowGroups those from the first.
  static constexpr int kScoreKeys = kBlockN / kColumnWarps;
  static constexpr int kScoreGroups = kRowGroups, kFirstGroup = 0;
  static constexpr int kKeySteps = kScoreKeys / kGridColumns;
  /// Key steps exponentiated before P V starts (early_steps.h).
  template <ForwardWalk kWalk>
  static constexpr int kEarlyStepsOf = early_steps(kWalk).of(kAccumulator, kHeadDim, kHasDropout);
  static constexpr int kEarlySteps = kEarlyStepsOf<ForwardWalk::kLong>;
  /// How scores of a cut tile are hidden (cut_masks.h), and whether of all of its keys at once.
  template <ForwardWalk kWalk>
  static constexpr CutMask kCutMaskOf = cut_masks_of(kWalk).of(kAccumulator, kHeadDim, kHasDropout);
  static constexpr CutMask kCutMask = kCutMaskOf<ForwardWalk::kLong>;
  static constexpr bool kCutsWholeTiles = kLoop == KeyLoop::kPieces;
  /// Whether a register is left for the order of a head's blocks; else each tile compares it in
  /// place.
  static constexpr bool kKeepsTileOrder =
      !kHasDropout || kAccumulator == Accumulator::kFp16 || kHeadDim < 64 || kIsDense;
  /// Whether the offset of the dropout mask is loaded behind the products of S, and not where the
  /// mask is drawn.
  static constexpr bool kAsksForOffsetEarly =
      kHasDropout && kLoop == KeyLoop::kOneBuffer && !kIsDense;
  /// Whether the warp meets around the row maxima and behind the first exponentials where Q is in
  /// registers, and draws the mask behind the maxima: or the compiler moves parts of these into
  /// each other, for which packed sequences leave too few registers.
  static constexpr bool kOrdersSoftmax = false;
  /// Column groups of eight that a quad-pair holds of O.
  static constexpr int kOutputGroups = kHeadDim / kColumnWarps / kGridColumns;
  using Layout = GridLayout<kAccumulator>;
  using Scale = ProbabilityScale<kAccumulator>;
  template <int kRows>
  using Tile = std::conditional_t<kIsDense, DenseTile<kRows, kIsDense ? kHeadDim : 80>,
                                  SwizzledTile<kRows, kHeadDim>>;
  using QueryTile = Tile<kBlockM>;
  using KeyTile = Tile<kBlockN>;
  /// With the room that a tile's rows have.
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
  /// Keys whose P a warp has here at once.
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

/// Once a block has read its K tile, each warp's rows of it, which this warp will fill anew, are
/// that warp's own, for P of some keys after the other.
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

/// Two tiles of K and V or one, and for each warp P of its 32 queries, in the place of its Q before
/// the loop, and of its O after it.
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

/// Q, and two buffers in which the pieces of a tile of 64 keys take turns: K of the first half of
/// the columns, K of the others, V of the first half of each warp's scores, V of the others. While
/// a block works on a piece of V, the place of the next piece is free for P of its keys: of the
/// warps that share rows, in the part of it that they fill then, and at first what two of them tell
/// each other of rows.
template <class Config>
struct PieceTiles {
  static constexpr int kPassKeys = 32;
  using Probabilities = ProbabilityTile<kPassKeys>;
  using KeyPiece = SwizzledTile<Config::kBlockN, Config::kHeadDim / 2>;
  using ValuePiece = SwizzledTile<kPassKeys, Config::kHeadDim>;
  /// Lane by lane, of each warp of a pair: a number for each row of its 16-row groups at most.
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

  /// What the warps that share rows have of the free buffer, while the block works on V of `part`.
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

/// O of 16-row group g of a warp, its share of columns, in the place of Q of its rows.
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
