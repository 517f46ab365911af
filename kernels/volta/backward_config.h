// The backward kernels' tile sizes, and the shared memory that they ask for: of the kernel of dK
// and dV first, then of the kernel of dQ alone.
#pragma once

#include <type_traits>

#include "kernels/tile/staged_rows.h"
#include "kernels/volta/backward_params.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/output_tile.h"
#include "kernels/volta/tile/probability_tile.h"
#include "kernels/volta/tile/transposed_product.h"

namespace sparkbench::volta {

/// How warps that share rows divide their columns: 64 to each as far as there are; of 80 a block of
/// 32 to either of two, and to the first half a block besides.
template <int kHeadDim>
struct ColumnDivision {
  static constexpr bool kHasHalfBlocks = kHeadDim == 80;
  static constexpr int kGroups = kHasHalfBlocks ? 3 : 4;  // of a warp
  using Output = std::conditional_t<kHasHalfBlocks, HalfBlockOutputTile, OutputTile<64>>;

  /// Of a row, the first block of 32 columns that a warp has, and the half block's first chunk.
  SPARK_HD static constexpr int first_block(int column_block) {
    return kHasHalfBlocks ? column_block : 2 * column_block;
  }
  static constexpr int kHalfChunk = 8;
  /// The chunk of a row that a warp has as chunk `chunk` of its output, kHeadDim / 8 if none.
  SPARK_HD static int chunk_of_row(int column_block, int chunk) {
    static_assert(kHasHalfBlocks, "the others are neighbours");
    if (chunk < 4) return 4 * column_block + chunk;
    return column_block == 0 && chunk < Output::kChunksPerRow ? kHalfChunk + chunk - 4
                                                              : kHeadDim / 8;
  }
};

/// A warp's columns of 64 keys' dK or dV, in the order of matmul_transposed_probabilities.
template <class Config>
using KeyGradient =
    AccumulatorFragment<Accumulator::kFp32>[kTransposedGroups][Config::Columns::kGroups];

/// The warps of a block are teams, each with steps of its own. Those of a team share each of its
/// products in ways of their own:
///   S, dP     32 queries and 32 keys a warp, of both or, at head_dim 128, of one of them; above
///             128, 16 keys of one of them
///   dV, dK    64 keys and 64 columns of one of them a warp, of which there may be 32
///   dQ        32 queries and 32 columns a warp, of 64 keys; half of that where there are more
///   warps
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
  static constexpr bool kIsPacked = false;
  static constexpr bool kIsSparse = false;
  static constexpr bool kComputesDq = kDq;
  static constexpr int kStep = kWarpRows;
  static constexpr int kBlockKeys = kKeys;
  static constexpr int kKeyTiles = kBlockKeys / kTransposedKeys;
  static constexpr int kTeams = kTeamCount;
  using Columns = ColumnDivision<kHeadDim>;
  static constexpr int kColumnTiles = (kHeadDim + 63) / 64;
  static constexpr int kTeamWarps = 2 * kKeyTiles * kColumnTiles;
  static constexpr int kWarps = kTeams * kTeamWarps;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlocksPerSm = 1;
  static constexpr int kScoreKeys = kHeadDim <= 128 ? 32 : 16;
  static constexpr int kScoreSteps = kScoreKeys / kGridColumns;
  static constexpr int kScoreWarps = kTeamWarps * kScoreKeys / kBlockKeys;  // that share scores
  /// Whether P and dS lie where V has its last rows, which V then gets back after each step.
  static constexpr bool kBorrowsValues = kHeadDim > 128;
  /// Where a warp has both S and dP, no register is left for its block's place.
  static constexpr bool kKeepsPlace = kScoreWarps == 1;
  static constexpr bool kKeepsItem = false;
  /// Whether what derives from a lane's place is computed anew at a step's end, not at its
  /// beginning: without spills only so, or faster by the cycle model.
  static constexpr bool kEndsAnew = kTeams > 1         ? !kHasDropout && !kComputesDq
                                    : kScoreWarps == 1 ? kHasDropout
                                                       : kHasDropout && !kComputesDq;
  /// Whether what derives from a step's place is computed anew for each draw: or there are spills.
  static constexpr bool kDrawsAnew = kTeams == 1 && kScoreWarps == 1 && !kComputesDq;
  /// Whether also where the team's warps meet within a step. Faster without by the cycle model
  /// where FP32 scores and no random bytes are held, and where teams have FP16 scores.
  static constexpr bool kMeetsAnew = kAccumulator == Accumulator::kFp32 ? kHasDropout : kTeams == 1;
  using Layout = GridLayout<kAccumulator>;
  using KeyTile = SwizzledTile<kBlockKeys, kHeadDim>;
  using QueryTile = SwizzledTile<kStep, kHeadDim>;
  using StagedKeys = StagedRows<KeyTile, kWarps>;
  using StagedQueries = StagedRows<QueryTile, kTeamWarps, kTeams>;
  static constexpr int kBorrowedKeys = 16;
  using BorrowedTile = SwizzledTile<kBorrowedKeys, kHeadDim>;
  using StagedBorrowed = StagedRows<BorrowedTile, kWarps>;

  static_assert(kScoreWarps == 1 || kScoreWarps == 2, "a warp has S, dP or both");
};

/// Keys of a block where an SM has 96 KiB of shared memory: those whose dK and dV fit in registers.
constexpr int backward_keys(int head_dim) { return head_dim <= 128 ? 128 : 64; }

template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout, bool kComputesDq,
          int kLeastHeadDim = kHeadDim>
struct BackwardConfig
    : BackwardShape<kAccumulator, kHeadDim, kHasDropout, kComputesDq, backward_keys(kHeadDim),
                    kHeadDim <= 64 ? 2 : 1, kLeastHeadDim> {};

/// Keys of a block of one team where an SM has 64 KiB (Turing).
constexpr int backward_keys_of_64_kib(int head_dim) { return head_dim == 64 ? 128 : 64; }

/// A team's part of shared memory.
template <class Config>
struct OwnTeamTiles {
  using Probabilities = ProbabilityTile<kTransposedKeys>;

  typename Config::QueryTile q, d_o;
  Probabilities p[Config::kKeyTiles][kRowGroups], ds[Config::kKeyTiles][kRowGroups];
};
/// The same behind V, P and dS first.
template <class Config>
struct BorrowingTeamTiles {
  using Probabilities = ProbabilityTile<kTransposedKeys>;

  Probabilities p[Config::kKeyTiles][kRowGroups], ds[Config::kKeyTiles][kRowGroups];
  typename Config::QueryTile q, d_o;
};
template <class Config>
using TeamTiles =
    std::conditional_t<Config::kBorrowsValues, BorrowingTeamTiles<Config>, OwnTeamTiles<Config>>;

/// Where a block is, for its end: where several teams leave no register to keep it in.
struct KeptPlace {
  Bits128 place;
};
/// The block's item in the list of packed sequences, for every step.
struct KeptItem {
  WorkItem item;
};
struct NoKeptPlace {};

/// All of a block's shared memory: 80 KiB at head_dim 64, 96 KiB at 128 and above.
template <class Config, bool kBorrowsValues = Config::kBorrowsValues>
struct BackwardTiles
    : std::conditional_t<Config::kKeepsPlace, KeptPlace,
                         std::conditional_t<Config::kKeepsItem, KeptItem, NoKeptPlace>> {
  typename Config::KeyTile k, v;
  TeamTiles<Config> team[Config::kTeams];

  SPARK_DEVICE typename Config::KeyTile& values() { return v; }
};
/// The same where V's last rows are P's and dS's for a part of each step.
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

/// What dK and dV pass through, in the place of the tiles.
template <class Config>
struct KeyGradientTiles {
  typename Config::Columns::Output output[Config::kWarps];
  /// Sums of 32 keys for another team.
  Bits128 sum[Config::kTeams == 1 ? 1 : Config::kWarps][2][2 * Config::Columns::kGroups][32];

  static_assert(sizeof output + (Config::kTeams == 1 ? 0 : sizeof sum) <=
                    sizeof(BackwardTiles<Config>),
                "K, V, Q, dO, P and dS make room for dK and dV");
};

/// This warp's team, and its place in it.
template <class Config>
struct TeamMember {
  int team, member;

  SPARK_DEVICE explicit TeamMember(int warp)
      : team(Config::kTeams == 1 ? 0 : warp / Config::kTeamWarps),
        member(Config::kTeams == 1 ? warp : warp % Config::kTeamWarps) {}
};

/// A team member's kScoreKeys keys of S and dP, and which of the kScoreWarps warps that have them
/// it is.
template <class Config>
struct ScoreShare {
  int key_quarter, part;

  SPARK_DEVICE explicit ScoreShare(int member)
      : key_quarter(member / Config::kScoreWarps), part(member % Config::kScoreWarps) {}
  SPARK_DEVICE int key_tile() const { return key_quarter >> (Config::kScoreKeys == 32 ? 1 : 2); }
  SPARK_DEVICE int first_step() const {
    constexpr int kPartsOfTile = kTransposedKeys / Config::kScoreKeys;
    return Config::kScoreSteps * (key_quarter & (kPartsOfTile - 1));
  }
};

/// A team member's share of dV and dK: which of them, which keys and which columns. 64 keys and 64
/// columns of one of them ask shared memory for less than 32 keys of both.
template <class Config>
struct KeyGradientShare {
  bool is_dk;
  int key_tile, column_block;  // of 64 keys, of 64 columns

  SPARK_DEVICE explicit KeyGradientShare(int member)
      : is_dk((member & 1) != 0),
        key_tile((member >> 1) % Config::kKeyTiles),
        column_block((member >> 1) / Config::kKeyTiles) {}
};

/// Two tiles on their way to shared memory: of Q and dO, or of K and V.
template <class StagedRows>
struct StagedTiles {
  StagedRows first, second;
};
/// Q and dO of a step, and what V has lent of itself.
template <class Config>
struct StagedStep : StagedTiles<typename Config::StagedQueries> {
  typename Config::StagedBorrowed borrowed;  // kBorrowsValues
};

template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout, int kRows,
          int kLeastHeadDimension = kHeadDimension>
struct BackwardDqShape {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr int kLeastHeadDim = kLeastHeadDimension;
  static constexpr bool kIsPadded = kLeastHeadDim < kHeadDim;
  static constexpr bool kHasDropout = kDropout;
  static constexpr bool kIsPacked = false;
  static constexpr bool kIsSparse = false;
  static constexpr int kBlockM = kRows;
  static constexpr int kBlockN = 32;
  using Columns = ColumnDivision<kHeadDim>;
  static constexpr int kColumnWarps = (kHeadDim + 63) / 64;  // warps that share 32 rows
  static constexpr int kWarps = kBlockM / kWarpRows * kColumnWarps;
  static constexpr int kThreads = 32 * kWarps;
  /// Of a warp, lines 3 to 6: how many warps share 16 rows, each with keys of its own, and how many
  /// groups of 16 rows it has.
  static constexpr int kScoreWarps = kWarps * kGridRows > kBlockM ? kWarps* kGridRows / kBlockM : 1;
  static constexpr int kScoreKeys = kBlockN / kScoreWarps;
  static constexpr int kKeySteps = kScoreKeys / kGridColumns;
  static constexpr int kScoreGroups = kBlockM / kGridRows * kScoreWarps / kWarps;
  /// Of K and V: one where Q and dO leave no room for two.
  static constexpr int kBuffers = kHeadDim <= 128 ? 2 : 1;
  /// That 255 registers a thread and 96 KiB of shared memory allow.
  static constexpr int kBlocksPerSm = kHeadDim <= 64 ? 2 : 1;
  /// Whether the key head is kept through the loop, in the place of the head: faster by the cycle
  /// model than to find it anew for each tile.
  static constexpr bool kKeepsKeyHead = kHeadDim >= 128;
  using Layout = GridLayout<kAccumulator>;
  using QueryTile = SwizzledTile<kBlockM, kHeadDim>;
  using KeyTile = SwizzledTile<kBlockN, kHeadDim>;
  using StagedQueries = StagedRows<QueryTile, kWarps>;
  using StagedKeys = StagedRows<KeyTile, kWarps>;
};

/// Where an SM has 96 KiB of shared memory.
template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout, int kLeastHeadDim = kHeadDim>
struct BackwardDqConfig : BackwardDqShape<kAccumulator, kHeadDim, kHasDropout,
                                          kHeadDim <= 128 ? 128 : 64, kLeastHeadDim> {};

/// Rows of a block at head_dim 128 where an SM has 64 KiB (Turing).
inline constexpr int kBackwardDqRowsOf64KiB = 64;

/// A warp's columns of 32 rows of dQ, in the order of matmul_probabilities.
template <class Config>
using DqOfWarp = AccumulatorFragment<Accumulator::kFp32>[kRowGroups][Config::Columns::kGroups];

/// Which 16-row groups and which 64 columns of dQ a warp has.
template <class Config>
struct DqShare {
  int first_group, column_block;

  SPARK_DEVICE explicit DqShare(int warp)
      : first_group(kRowGroups * (warp / Config::kColumnWarps)),
        column_block(warp % Config::kColumnWarps) {
    // Where the last has 32 columns, a scheduler's warps (w, w + 4) have different ones.
    if constexpr (Config::kHeadDim % 64 != 0 && Config::kColumnWarps == 2) {
      column_block ^= (warp >> 2) & 1;
    }
  }
};

/// Calls multiply(B, C), std::integral_constant<int> both, with the B blocks of 32 columns that a
/// warp has (ColumnDivision), and the first chunk C of its half block, or -1.
template <int kHeadDim, class Multiply>
SPARK_DEVICE void with_column_blocks(int column_block, Multiply multiply) {
  constexpr std::integral_constant<int, 1> kOne{};
  constexpr std::integral_constant<int, 2> kTwo{};
  constexpr std::integral_constant<int, -1> kNoHalf{};
  if constexpr (ColumnDivision<kHeadDim>::kHasHalfBlocks) {
    if (column_block == 0) {
      multiply(kOne, std::integral_constant<int, ColumnDivision<kHeadDim>::kHalfChunk>{});
    } else {
      multiply(kOne, kNoHalf);
    }
    // NOLINTNEXTLINE(bugprone-branch-clone): of this and the last, one is compiled
  } else if constexpr (kHeadDim % 64 == 0) {
    multiply(kTwo, kNoHalf);
  } else if (kHeadDim < 64 || column_block == kHeadDim / 64) {
    multiply(kOne, kNoHalf);
  } else {
    multiply(kTwo, kNoHalf);
  }
}

/// Writes a warp's rows of a block of 32 columns and half a block, `rows` the whole ones: row i of
/// the tile is row row_of(i) of these.
template <class Columns, class Machine, class RowOf>
SPARK_DEVICE void write_half_block_rows(Machine& machine, HalfBlockOutputTile& tile,
                                        int column_block, const OutputRows& rows, RowOf row_of) {
  const int chunk = machine.lane() % 8;
  const int of_row = Columns::chunk_of_row(column_block, chunk);
  if (of_row >= rows.chunks) return;
#pragma unroll
  for (int first = 0; first < kGridRows; first += 4) {
    const int of_tile = first + machine.lane() / 8;
    const int row = row_of(of_tile);
    const auto bits = machine.template load_shared<Bits128>(tile.at(of_tile, chunk));
    Half* const place = rows.at(0, row) + 8 * of_row;
    if (rows.has(row)) machine.store_global(place, bits);
  }
}

/// All of a block's shared memory. While a block works on one pair of K and V tiles, the place of
/// the other has dS, or if there is none that of V.
template <class Config>
struct BackwardDqTiles {
  typename Config::QueryTile q, d_o;
  typename Config::KeyTile k[Config::kBuffers], v[Config::kBuffers];

  /// dS of a 16-row group of the block, in the place of the tiles of `buffer`.
  SPARK_DEVICE ProbabilityTile<Config::kBlockN>* gradients(int buffer, int group) {
    using Tile = ProbabilityTile<Config::kBlockN>;
    if constexpr (Config::kBuffers == 1) return reinterpret_cast<Tile*>(&v[0]) + group;
    constexpr int kInKeys = sizeof(typename Config::KeyTile) / sizeof(Tile);
    static_assert(2 * kInKeys >= Config::kBlockM / kGridRows, "K and V make room for dS");
    return group < kInKeys ? reinterpret_cast<Tile*>(&k[buffer]) + group
                           : reinterpret_cast<Tile*>(&v[buffer]) + (group - kInKeys);
  }

  /// dQ of 16 rows and 64 columns of a warp, in the place of Q.
  SPARK_DEVICE typename Config::Columns::Output* output(int warp, int g) {
    using Output = typename Config::Columns::Output;
    static_assert(Config::kWarps * kRowGroups * sizeof(Output) <= sizeof q, "Q makes room for dQ");
    return reinterpret_cast<Output*>(&q) + kRowGroups * warp + g;
  }
};

/// The row-wise kernels (backward_rows.h): rows of a block, all of one head. A warp has 16 of them.
/// Memory binds them, so that one serves every head_dim of a tile.
template <Accumulator kAccumulatorType, int kHeadDimension, int kLeastHeadDimension>
struct BackwardRowsShape {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr int kLeastHeadDim = kLeastHeadDimension;
  static constexpr bool kIsPadded = kLeastHeadDim < kHeadDim;
  static constexpr bool kIsPacked = false;
  static constexpr bool kIsSparse = false;
  static constexpr int kBlockM = 64;
  static constexpr int kWarps = kBlockM / kGridRows;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlocksPerSm = kHeadDim <= 128 ? 6 : 3;  // by registers of a row of dQ
};

/// A block's shared memory where dQ is rounded.
template <class Config>
struct RoundDqTiles {
  OutputTile<Config::kHeadDim> of_warp[Config::kWarps];
};

}  // namespace sparkbench::volta
