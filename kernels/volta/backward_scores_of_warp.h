// Lines 3 to 8 of the backward kernel (backward.h) where a warp computes both S and dP of its 32
// keys: head_dim 64.
#pragma once

#include "kernels/volta/backward_scores.h"

namespace sparkbench::volta {

/// P is formed while the tensor cores have dP, and half of the random bytes while they have S.
template <class Config, class Machine>
SPARK_DEVICE void store_scores_of_warp(Machine& machine, const BackwardParams& params,
                                       int first_query, BackwardTiles<Config>& tiles) {
  constexpr int kPieces = Config::QueryTile::kChunksPerRow / kRowGroups;  // a chunk's products each
  static_assert(kPieces == 4, "as many as a group has");
  const TeamMember<Config> of(machine.warp());
  TeamTiles<Config>& team = tiles.team[of.team];
  const int first_key = Config::kScoreKeys * ScoreShare<Config>(of.member).key_quarter;
  RowStatistics row[kRowGroups][Config::Layout::kRowsPerLane];
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    load_step_statistics<Config>(machine, params, first_query, g, row[g]);  // line 3
  }
  GroupDropout dropout[kRowGroups];
  const auto draw = [&](int group, int chunk) {
    if constexpr (Config::kHasDropout) {
      draw_quartet<Config>(machine, params, first_query, group, chunk % kQuartets, dropout[group]);
    }
  };
  ScoreFragments<Config> fragments = {};
  matmul_step<Config>(machine, team.q, 0, tiles.k, first_key, fragments, [&](int chunk) {
    if (chunk % kPieces == kPieces - 1) draw(0, chunk / kPieces);
  });  // line 4
  ScoreGroup<Config> p[kRowGroups];
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) widen_group<Config>(machine, fragments[g], p[g]);
  if (is_masked<Config>(machine, params, first_query)) {
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      mask_group<Config>(machine, params, first_query, g, p[g]);  // line 5
    }
  }
  ProbabilityPlaces places = quartet_places<Config>(machine);
  ScoreFragments<Config> dp = {};
  std::uint32_t pair[kQuartets][2];
  matmul_step<Config>(machine, team.d_o, 0, tiles.v, first_key, dp, [&](int chunk) {
    const int g = chunk / kPieces;
    if (chunk < kPieces && chunk % 2 == 1) draw(1, chunk / 2);
    store_probability_piece<Config>(machine, params, row[g], dropout[g], chunk % kPieces, p[g],
                                    pair, places, tiles.team[0].p[0][g]);  // lines 6 and 7
  });
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    ScoreGroup<Config> ds;
    widen_group<Config>(machine, dp[g], ds);
    store_group_gradients<Config>(machine, row[g], p[g], ds, places,
                                  tiles.team[0].ds[0][g]);  // line 8
  }
}

}  // namespace sparkbench::volta
