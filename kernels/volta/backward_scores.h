// P and dS of the backward kernel (backward.h, lines 4 to 6): a warp's queries and keys of a step.
#pragma once

#include "kernels/tile/dropout.h"
#include "kernels/tile/mask.h"
#include "kernels/tile/score_block.h"
#include "kernels/tile/softmax_gradient.h"
#include "kernels/tile/tile_accumulator.h"
#include "kernels/volta/backward_block.h"

namespace sparkbench::volta {

/// A warp's 32 keys and its queries, in halves and groups of the step's 64 x 64 scores.
template <class Config>
struct ScoreShare {
  int key_half, first_group;

  SPARK_DEVICE explicit ScoreShare(int warp)
      : key_half(warp & 1), first_group(Config::kScoreGroups * (warp >> 1)) {}
};

/// Lines 5 and 6 for one 16-row group: `p` comes as scores, `ds` as dP.
template <class Config, bool kIsMasked, class Machine>
SPARK_DEVICE void store_score_group(Machine& machine, const BackwardParams& params,
                                    const BackwardBlock& block, int first_query, int group,
                                    float (&p)[Config::kScoreSteps][8],
                                    float (&ds)[Config::kScoreSteps][8],
                                    BackwardTiles<Config>& tiles) {
  constexpr Accumulator kAccumulator = Config::kAccumulator;
  const ScoreShare<Config> share(machine.warp());
  const int first_key = block.first_key + 32 * share.key_half;
  const int first_row = first_query + kGridRows * group;
  RowStatistics row[Config::Layout::kRowsPerLane];
  load_statistics<kAccumulator>(
      machine, params.workspace.statistics_of(block.batch_head, params.mask.seqlen_q) + first_row,
      row);
  const auto drop = [&](float(&value)[Config::kScoreSteps][8]) {
    if constexpr (Config::kHasDropout) {
      drop_probabilities<kAccumulator>(value, params.dropout, machine.lane(), block.batch_head,
                                       first_row, first_key);
    }
  };
  if constexpr (kIsMasked) {
    mask_scores<kAccumulator>(p, params.mask, machine.lane(), first_row, first_key);
  }
  drop(ds);
  softmax_gradient<kAccumulator>(machine, params.scale_log2, row, p, ds);
  drop(p);
  store_probabilities<kAccumulator>(machine, p, tiles.p[group],
                                    Config::kScoreSteps * share.key_half);
  store_gradients<kAccumulator>(machine, ds, tiles.ds[group], Config::kScoreSteps * share.key_half);
}

/// Lines 4 to 6: the warp's share of P and dS of the 64 queries from first_query on.
template <class Config, bool kIsMasked, class Machine>
SPARK_DEVICE void store_scores(Machine& machine, const BackwardParams& params,
                               const BackwardBlock& block, int first_query,
                               BackwardTiles<Config>& tiles) {
  constexpr Accumulator kAccumulator = Config::kAccumulator;
  const ScoreShare<Config> share(machine.warp());
  const int first_row = kGridRows * share.first_group;
  AccumulatorFragment<kAccumulator> s[Config::kScoreGroups][Config::kScoreSteps] = {};
  AccumulatorFragment<kAccumulator> dp[Config::kScoreGroups][Config::kScoreSteps] = {};
  matmul_score_block<kAccumulator>(machine, tiles.q, first_row, tiles.k, 32 * share.key_half, s);
  matmul_score_block<kAccumulator>(machine, tiles.d_o, first_row, tiles.v, 32 * share.key_half, dp);
#pragma unroll
  for (int g = 0; g < Config::kScoreGroups; ++g) {
    float p[Config::kScoreSteps][8], ds[Config::kScoreSteps][8];
#pragma unroll
    for (int step = 0; step < Config::kScoreSteps; ++step) {
      widen(machine, s[g][step], p[step]);
      widen(machine, dp[g][step], ds[step]);
    }
    store_score_group<Config, kIsMasked>(machine, params, block, first_query, share.first_group + g,
                                         p, ds, tiles);
  }
}

}  // namespace sparkbench::volta
