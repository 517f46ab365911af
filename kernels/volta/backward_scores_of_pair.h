// Lines 3 to 8 of the backward kernel (backward.h) where of the same 32 keys one warp computes S
// and another dP: head_dim 128. Half as many keys a warp, but both products, would ask shared
// memory for half as much again.
#pragma once

#include <cstring>

#include "kernels/volta/backward_scores.h"

namespace sparkbench::volta {

/// Where a warp's partner leaves a lane 16 rows of the warp's keys of S or dP, the lane's chunk
/// `index` of them: on what the warp then fills with P and dS.
template <class Config>
SPARK_DEVICE Bits128* exchanged_chunk(TeamTiles<Config>& tiles, const ScoreShare<Config>& share,
                                      int group, int index, int lane) {
  auto& tile = (index < 2 ? tiles.p : tiles.ds)[share.key_tile()][group];
  return tile.at(8 * (index & 1) + lane / 4, 2 * share.first_step() + lane % 4);
}

/// Gives the partner what this warp has of the partner's group, and gets the same of its own.
template <class Config, class Machine>
SPARK_DEVICE void exchange_group(
    Machine& machine, TeamTiles<Config>& tiles, const ScoreShare<Config>& share, int group,
    AccumulatorFragment<Config::kAccumulator> (&fragments)[Config::kScoreSteps]) {
  constexpr std::size_t kBytes = sizeof fragments;
  constexpr int kChunks = kBytes / sizeof(Bits128);
  Bits128 bits[kChunks];
  memcpy(bits, fragments, kBytes);
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    machine.store_shared(exchanged_chunk(tiles, share, group ^ 1, i, machine.lane()), bits[i]);
  }
  machine.template team_barrier<Config::kScoreWarps>();
#pragma unroll
  for (int i = 0; i < kChunks; ++i) {
    bits[i] = machine.template load_shared<Bits128>(
        exchanged_chunk(tiles, share, group, i, machine.lane()));
  }
  machine.sync_warp();
  memcpy(fragments, bits, kBytes);
}

/// Each warp of a pair finishes 16 of the step's queries.
template <class Config, class Machine>
SPARK_DEVICE void store_scores_of_pair(Machine& machine, const BackwardParams& params,
                                       int first_query, BackwardTiles<Config>& tiles) {
  const TeamMember<Config> of(machine.warp());
  const ScoreShare<Config> share(of.member);
  TeamTiles<Config>& team = tiles.team[of.team];
  const int group = share.part;
  const bool has_s = share.part == 0;
  RowStatistics row[Config::Layout::kRowsPerLane];
  load_step_statistics<Config>(machine, params, first_query, group, row);  // line 3
  GroupDropout dropout;
  ScoreFragments<Config> product = {};  // of this warp's group, and of its partner's
  matmul_step<Config>(machine, has_s ? team.q : team.d_o, group, has_s ? tiles.k : tiles.v,
                      Config::kScoreKeys * share.key_quarter, product, [&](int chunk) {
                        if constexpr (Config::kHasDropout) {
                          if (chunk % 8 != 7) return;
                          draw_quartet<Config>(machine, params, first_query, group, chunk / 8,
                                               dropout);
                        }
                      });  // line 4
  exchange_group<Config>(machine, team, share, group, product[1]);
  AccumulatorFragment<Config::kAccumulator> s[Config::kScoreSteps], dp[Config::kScoreSteps];
#pragma unroll
  for (int step = 0; step < Config::kScoreSteps; ++step) {
    s[step] = select(has_s, product[0][step], product[1][step]);
    dp[step] = select(has_s, product[1][step], product[0][step]);
  }
  ScoreGroup<Config> p, ds;
  widen_group<Config>(machine, s, p);
  widen_group<Config>(machine, dp, ds);
  if (is_masked<Config>(machine, params, first_query)) {
    mask_group<Config>(machine, params, first_query, group, p);  // line 5
  }
  ProbabilityPlaces places = quartet_places<Config>(machine);
  std::uint32_t pair[kQuartets][2];
#pragma unroll
  for (int piece = 0; piece < 2 * Config::kScoreSteps; ++piece) {
    store_probability_piece<Config>(machine, params, row, dropout, piece, p, pair, places,
                                    tiles.team[0].p[0][group]);  // lines 6 and 7
  }
  store_group_gradients<Config>(machine, row, p, ds, places,
                                tiles.team[0].ds[0][group]);  // line 8
}

}  // namespace sparkbench::volta
