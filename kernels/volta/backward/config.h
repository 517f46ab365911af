// Tile sizes of the dK/dV kernel, with or without dQ, and the shared memory that it needs.
#pragma once

#include <type_traits>

#include "kernels/tile/staged_rows.h"
#include "kernels/tile/walk.h"
#include "kernels/volta/backward/columns.h"
#include "kernels/volta/backward/params.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/probability_tile.h"
#include "kernels/volta/tile/quartet_tile.h"
#include "kernels/volta/tile/transposed_product.h"

namespace sparkbench::volta {

/// A warp's columns of 64 keys' dK or dV, in the order of matmul_transposed_probabilities.
template <class Config>
using KeyGradient =
    AccumulatorFragment<Accumulator::kFp32>[Config::kKeyGroups][Config::Columns::kGroups];

/// Whether the dK/dV kernel masks by the ends of rows instead of by mask bits (both forms:
/// ../forward/cut_masks.h), in long blocks. Not at head_dim 128: windows would gain 2 %, unmasked
/// problems lose 1 %.
constexpr bool masks_by_ends(int head_dim, Accumulator accumulator, bool has_dropout,
                             bool computes_dq) {
  if (head_dim != 64) return false;
  return accumulator == Accumulator::kFp32 ? has_dropout != computes_dq
                                           : has_dropout && computes_dq;
}

/// Chunks of K, or of V, that a warp keeps in registers from step to step for its S or dP
/// (kept_chunks.h), which saves their shared memory reads. As many as gain time by the cycle model;
/// at 64 columns dK and dV leave no registers.
constexpr int kept_chunks(int head_dim, Accumulator accumulator, bool has_dropout,
                          bool computes_dq) {
  const bool is_fp32 = accumulator == Accumulator::kFp32;
  switch (head_dim) {
    case 32:
      return is_fp32 && has_dropout && !computes_dq ? 1 : 4;
    case 80:
      return 6;
    case 96:
      return is_fp32 && computes_dq ? 2 : 3;
    case 128:
      return is_fp32 && computes_dq ? 0 : 4;
    case 256:
      return (is_fp32 ? !has_dropout && !computes_dq : has_dropout || computes_dq) ? 2 : 0;
    default:
      return 0;
  }
}

/// The warps of a block form teams (warp groups), each with steps of its own. The warps of a team
/// share each product in its own way:
///   S, dP     32 queries and 32 keys per warp, of both or, at head_dim 128, of one of them; above
///             128, 16 keys of one of them
///   dV, dK    64 keys and 64 columns of one of them per warp, at head_dim 32 the 32 columns, at 96
///             48; at 80 all columns and 32 keys
///   dQ        32 queries and 32 columns per warp, of 64 keys; half of that where there are more
///             warps; at 80 and 96 16 queries and half of the columns, or of 96 in FP32 all queries
///             and a quarter of the columns
template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout, bool kDq, int kKeys,
          int kTeamCount, int kLeastHeadDimension = kHeadDimension>
struct BackwardShape {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr int kLeastHeadDim = kLeastHeadDimension;
  static constexpr bool kIsPadded = kLeastHeadDim < kHeadDim;
  /// Whether tensors have some column of every 32 columns of dQ.
  static constexpr bool kHasEveryBlock = kLeastHeadDim > kHeadDim - 32;
  static constexpr bool kHasDropout = kDropout;
  using Walk = DenseWalk;
  static constexpr int kShortWindow = 0;  // above 0 of short blocks: short_blocks.h
  static constexpr bool kComputesDq = kDq;
  static constexpr bool kRelaysDq = false;  // relay.h
  /// Whether steps whose queries see no key of one half of the block skip that half (OfKeyHalf),
  /// and full steps have a loop of their own.
  static constexpr bool kHalvesSteps = false;
  static constexpr int kKeyHalf = kNoHalf;  // the half of the block's keys that a step has
  static constexpr int kStep = kWarpRows;
  static constexpr int kBlockKeys = kKeys;
  static constexpr int kKeyTiles = kBlockKeys / kTransposedKeys;
  static constexpr int kTeams = kTeamCount;
  /// At head_dim 80 and 96 two blocks share an SM, and one has exponentials while the other has
  /// products.
  static constexpr bool kSharesSm = kHeadDim == 80 || kHeadDim == 96;
  /// At head_dim 96 with FP32 sums of dQ, a warp has 24 columns and all queries; its column halves
  /// have half of the keys each.
  static constexpr bool kHalvesKeysOfDq =
      kHeadDim == 96 && kAccumulator == Accumulator::kFp32 && kComputesDq;
  /// Whether spare registers keep a lane's load and store addresses of a step (query_cursor.h).
  static constexpr bool kKeepsCursor =
      kSharesSm && kAccumulator == Accumulator::kFp32 && kComputesDq;
  /// 80 columns do not halve: a warp has all of them, for 32 keys.
  static constexpr bool kHalvesKeys = kHeadDim == 80;
  static constexpr int kKeyGroups = kHalvesKeys ? 2 : kTransposedGroups;  // of a warp's dK or dV
  using Columns = std::conditional_t<
      kHalvesKeys, WholeRowDivision,
      std::conditional_t<kSharesSm, HalfBlockDivision, ColumnDivision<kHeadDim>>>;
  static constexpr int kColumnTiles = (kHeadDim + 63) / 64;
  static constexpr int kTeamWarps = 2 * kKeyTiles * kColumnTiles;
  static constexpr int kWarps = kTeams * kTeamWarps;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlocksPerSm = kSharesSm ? 2 : 1;
  static constexpr int kScoreKeys = kHeadDim <= 128 ? 32 : 16;
  static constexpr int kScoreSteps = kScoreKeys / kGridColumns;
  static constexpr int kKeptChunks = kept_chunks(kHeadDim, kAccumulator, kHasDropout, kComputesDq);
  static constexpr int kScoreWarps = kTeamWarps * kScoreKeys / kBlockKeys;  // that share scores
  /// Whether P and dS overlay the last rows of V, which are reloaded after each step.
  static constexpr bool kBorrowsValues = kHeadDim > 128;
  /// A warp with both S and dP has no register left for its block's coordinates.
  static constexpr bool kKeepsPlace = kScoreWarps == 1;
  static constexpr bool kKeepsItem = false;
  /// Whether lane-dependent indices are recomputed at a step's end instead of its beginning: to
  /// avoid spills, or because the cycle model says it is faster.
  static constexpr bool kEndsAnew = kTeams > 1         ? !kHasDropout && !kComputesDq
                                    : kScoreWarps == 1 ? kHasDropout
                                                       : kHasDropout && !kComputesDq;
  /// Whether the step's indices are recomputed for each dropout draw: otherwise registers spill.
  static constexpr bool kDrawsAnew = kTeams == 1 && kScoreWarps == 1 && !kComputesDq;
  /// Whether they are recomputed also where the team's warps meet within a step. By the cycle model
  /// it is faster not to where FP32 scores and no random bytes are held, and where teams have FP16
  /// scores.
  static constexpr bool kMeetsAnew = kAccumulator == Accumulator::kFp32 ? kHasDropout : kTeams == 1;
  /// How scores of a partial step are hidden: by ends or by mask bits (masks_by_ends).
  static constexpr bool kMasksByEnds = false;
  using Layout = GridLayout<kAccumulator>;
  template <int kRows>
  using TileOf =
      std::conditional_t<kSharesSm, QuartetTile<kRows, kHeadDim>, SwizzledTile<kRows, kHeadDim>>;
  using KeyTile = TileOf<kBlockKeys>;
  using QueryTile = TileOf<kStep>;
  using StagedKeys = StagedRows<KeyTile, kWarps>;
  using StagedQueries = StagedRows<QueryTile, kTeamWarps, kTeams>;
  static constexpr int kBorrowedKeys = 16;
  using BorrowedTile = SwizzledTile<kBorrowedKeys, kHeadDim>;
  using StagedBorrowed = StagedRows<BorrowedTile, kWarps>;

  static_assert(kScoreWarps == 1 || kScoreWarps == 2, "a warp has S, dP or both");
};

/// Keys of a block on an SM with 96 KiB of shared memory: those whose dK and dV fit in registers,
/// or half of them if two blocks share the SM.
constexpr int backward_keys(int head_dim) {
  return head_dim <= 64 || (head_dim > 96 && head_dim <= 128) ? 128 : 64;
}

template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout, bool kComputesDq,
          int kLeastHeadDim = kHeadDim>
struct BackwardConfig
    : BackwardShape<kAccumulator, kHeadDim, kHasDropout, kComputesDq, backward_keys(kHeadDim),
                    kHeadDim <= 64 ? 2 : 1, kLeastHeadDim> {
  static constexpr bool kMasksByEnds =
      masks_by_ends(kHeadDim, kAccumulator, kHasDropout, kComputesDq);
};

/// Keys of a block of one team on an SM with 64 KiB (Turing).
constexpr int backward_keys_of_64_kib(int head_dim) { return head_dim == 64 ? 128 : 64; }

/// Steps of the first or the last half of a block's 64 keys, in the shared memory of Config. The
/// two warps of a team share the scores as pairs do at 128 columns, and the gradients as otherwise.
template <class Config, int kHalf>
struct OfKeyHalf : Config {
  static_assert(Config::kBlockKeys == kTransposedKeys && Config::kTeamWarps == 2 &&
                    Config::kScoreWarps == 1 && Config::kScoreKeys == kTransposedKeys / 2 &&
                    Config::kKeptChunks == 0 && !Config::kKeepsPlace,
                "a team is a pair, and a warp has nothing of a block's keys to itself");
  static constexpr int kKeyHalf = kHalf;
  static constexpr int kScoreWarps = 2;
  static constexpr bool kMasksByEnds = false;
};

/// A team's part of shared memory.
template <class Config>
struct OwnTeamTiles {
  using Probabilities = ProbabilityTile<kTransposedKeys>;

  typename Config::QueryTile q, d_o;
  Probabilities p[Config::kKeyTiles][kRowGroups], ds[Config::kKeyTiles][kRowGroups];
};
/// The same, with P and dS first, so that they follow V.
template <class Config>
struct BorrowingTeamTiles {
  using Probabilities = ProbabilityTile<kTransposedKeys>;

  Probabilities p[Config::kKeyTiles][kRowGroups], ds[Config::kKeyTiles][kRowGroups];
  typename Config::QueryTile q, d_o;
};
template <class Config>
using TeamTiles =
    std::conditional_t<Config::kBorrowsValues, BorrowingTeamTiles<Config>, OwnTeamTiles<Config>>;

/// The block's coordinates, for its end, where several teams leave no register to keep them in.
struct KeptPlace {
  Bits128 place;
};
/// The block's entry in the varlen work list, for every step.
struct KeptItem {
  WorkItem item;
};
struct NoKeptPlace {};

/// All of a block's shared memory: 80 KiB at head_dim 64, 44 at 80 and 96, 96 at 128 and above.
template <class Config, bool kBorrowsValues = Config::kBorrowsValues>
struct BackwardTiles
    : std::conditional_t<Config::kKeepsPlace, KeptPlace,
                         std::conditional_t<Config::kKeepsItem, KeptItem, NoKeptPlace>> {
  typename Config::KeyTile k, v;
  TeamTiles<Config> team[Config::kTeams];

  SPARK_DEVICE typename Config::KeyTile& values() { return v; }
};
/// The same where P and dS overlay V's last rows for a part of each step.
template <class Config>
struct BackwardTiles<Config, true> {
  static constexpr int kOwnRows = Config::kBlockKeys - Config::kBorrowedKeys;

  typename Config::KeyTile k;
  Bits128 v[kOwnRows][Config::KeyTile::kChunksPerRow];
  TeamTiles<Config> team[1];

  SPARK_DEVICE typename Config::KeyTile& values() {
    auto* const rows = v[0];
    return *reinterpret_cast<typename Config::KeyTile*>(rows);
  }
  SPARK_DEVICE typename Config::BorrowedTile& borrowed() {
    static_assert(sizeof(team[0].p) + sizeof(team[0].ds) == sizeof(typename Config::BorrowedTile),
                  "P and dS have whole rows of V");
    auto* const first = team;
    return *reinterpret_cast<typename Config::BorrowedTile*>(first);
  }
};

/// Staging of dK and dV, over the tiles.
template <class Config>
struct KeyGradientTiles {
  typename Config::Columns::Output output[Config::kWarps];
  /// Sums of 32 keys for another team.
  Bits128 sum[Config::kTeams == 1 ? 1 : Config::kWarps][2][2 * Config::Columns::kGroups][32];

  static_assert(sizeof output + (Config::kTeams == 1 ? 0 : sizeof sum) <=
                    sizeof(BackwardTiles<Config>),
                "K, V, Q, dO, P and dS make room for dK and dV");
};

template <class Config>
SPARK_DEVICE KeyGradientTiles<Config>& key_gradient_tiles(BackwardTiles<Config>& in_loop) {
  auto* const first = &in_loop.k;
  return *reinterpret_cast<KeyGradientTiles<Config>*>(first);
}

/// This warp's team, and its index in it.
template <class Config>
struct TeamMember {
  int team, member;

  SPARK_DEVICE explicit TeamMember(int warp)
      : team(Config::kTeams == 1 ? 0 : warp / Config::kTeamWarps),
        member(Config::kTeams == 1 ? warp : warp % Config::kTeamWarps) {}
};

/// A team member's kScoreKeys keys of S and dP, and its index among the kScoreWarps warps that have
/// these keys.
template <class Config>
struct ScoreShare {
  int key_quarter, part;

  SPARK_DEVICE explicit ScoreShare(int member)
      : key_quarter(Config::kKeyHalf == kNoHalf ? member / Config::kScoreWarps : Config::kKeyHalf),
        part(member % Config::kScoreWarps) {}
  SPARK_DEVICE int key_tile() const { return key_quarter >> (Config::kScoreKeys == 32 ? 1 : 2); }
  SPARK_DEVICE int first_step() const {
    constexpr int kPartsOfTile = kTransposedKeys / Config::kScoreKeys;
    return Config::kScoreSteps * (key_quarter & (kPartsOfTile - 1));
  }
};

/// A team member's share of dV and dK: which of them, which keys and which columns. 64 keys and 64
/// columns of one of them need less shared memory traffic than 32 keys of both.
template <class Config>
struct KeyGradientShare {
  bool is_dk;
  int key_tile, column_block;  // of 64 keys, of 64 columns
  int key_half;                // kHalvesKeys: of the tile's keys

  SPARK_DEVICE explicit KeyGradientShare(int member)
      : is_dk((member & 1) != 0),
        key_tile((member >> 1) % Config::kKeyTiles),
        column_block(Config::kHalvesKeys ? 0 : (member >> 1) / Config::kKeyTiles),
        key_half(Config::kHalvesKeys ? member >> 1 : 0) {}
};

/// Two tiles on their way to shared memory: of Q and dO, or of K and V.
template <class StagedRows>
struct StagedTiles {
  StagedRows first, second;
};
/// Q and dO of a step, and the rows of V that P and dS overlaid.
template <class Config>
struct StagedStep : StagedTiles<typename Config::StagedQueries> {
  typename Config::StagedBorrowed borrowed;  // kBorrowsValues
};

}  // namespace sparkbench::volta
