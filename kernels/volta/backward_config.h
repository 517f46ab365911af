// The backward kernel's tile sizes, and the shared memory that they ask for.
#pragma once

#include <type_traits>

#include "kernels/tile/staged_rows.h"
#include "kernels/volta/backward_params.h"
#include "kernels/volta/tile/grid_matmul.h"
#include "kernels/volta/tile/output_tile.h"
#include "kernels/volta/tile/probability_tile.h"
#include "kernels/volta/tile/transposed_product.h"

namespace sparkbench::volta {

/// 64 columns of 64 keys' dK or dV, in the order of matmul_transposed_probabilities.
inline constexpr int kKeyGradientGroups = 4;
using KeyGradient = AccumulatorFragment<Accumulator::kFp32>[kTransposedGroups][kKeyGradientGroups];

/// The warps of a block are teams, each with steps of its own. Those of a team share each of its
/// products in ways of their own:
///   S, dP     32 queries and 32 keys a warp, of both or, at head_dim 128, of one of them
///   dV, dK    64 keys and 64 columns of one of them a warp
///   dQ        32 queries and 32 columns a warp, of 64 keys
template <Accumulator kAccumulatorType, int kHeadDimension, bool kDropout, bool kDq, int kKeys,
          int kTeamCount>
struct BackwardShape {
  static constexpr Accumulator kAccumulator = kAccumulatorType;
  static constexpr int kHeadDim = kHeadDimension;
  static constexpr bool kHasDropout = kDropout;
  static constexpr bool kComputesDq = kDq;
  static constexpr int kStep = kWarpRows;
  static constexpr int kBlockKeys = kKeys;
  static constexpr int kKeyTiles = kBlockKeys / kTransposedKeys;
  static constexpr int kTeams = kTeamCount;
  static constexpr int kTeamWarps = 2 * kKeyTiles * (kHeadDim / 64);
  static constexpr int kWarps = kTeams * kTeamWarps;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlocksPerSm = 1;
  static constexpr int kScoreKeys = 32;
  static constexpr int kScoreSteps = kScoreKeys / kGridColumns;
  static constexpr int kScoreWarps = kTeamWarps * kScoreKeys / kBlockKeys;  // that share scores
  /// Where a warp has both S and dP, no register is left for its block's place.
  static constexpr bool kKeepsPlace = kScoreWarps == 1;
  using Layout = GridLayout<kAccumulator>;
  using KeyTile = SwizzledTile<kBlockKeys, kHeadDim>;
  using QueryTile = SwizzledTile<kStep, kHeadDim>;
  using StagedKeys = StagedRows<KeyTile, kWarps>;
  using StagedQueries = StagedRows<QueryTile, kTeamWarps, kTeams>;

  static_assert(kScoreWarps == 1 || kScoreWarps == 2, "a warp has S, dP or both");
};

/// Where an SM has 96 KiB of shared memory.
template <Accumulator kAccumulator, int kHeadDim, bool kHasDropout, bool kComputesDq>
struct BackwardConfig
    : BackwardShape<kAccumulator, kHeadDim, kHasDropout, kComputesDq, 128, kHeadDim == 64 ? 2 : 1> {
};

/// Keys of a block of one team where an SM has 64 KiB (Turing).
constexpr int backward_keys_of_64_kib(int head_dim) { return head_dim == 64 ? 128 : 64; }

/// A team's part of shared memory.
template <class Config>
struct TeamTiles {
  using Probabilities = ProbabilityTile<kTransposedKeys>;

  typename Config::QueryTile q, d_o;
  Probabilities p[Config::kKeyTiles][kRowGroups], ds[Config::kKeyTiles][kRowGroups];
};

/// Where a block is, for its end: where several teams leave no register to keep it in.
struct KeptPlace {
  Bits128 place;
};
struct NoKeptPlace {};

/// All of a block's shared memory: 80 KiB at head_dim 64, 96 KiB at 128.
template <class Config>
struct BackwardTiles : std::conditional_t<Config::kKeepsPlace, KeptPlace, NoKeptPlace> {
  typename Config::KeyTile k, v;
  TeamTiles<Config> team[Config::kTeams];
};

/// What dK and dV pass through, in the place of the tiles.
template <class Config>
struct KeyGradientTiles {
  OutputTile<64> output[Config::kWarps];
  /// Sums of 32 keys for another team.
  Bits128 sum[Config::kTeams == 1 ? 1 : Config::kWarps][2][2 * kKeyGradientGroups][32];

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

template <class Config, class Machine>
SPARK_DEVICE void team_barrier(Machine& machine) {
  if constexpr (Config::kTeams == 1) {
    machine.barrier();
  } else {
    machine.template team_barrier<Config::kTeamWarps>();
  }
}

}  // namespace sparkbench::volta
