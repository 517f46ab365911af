// A warp's tile of scores on its way to probabilities in registers: what forward_one_buffer.h and
// forward_held_queries.h share. The block is located anew in each function: there is no register to
// keep it in.
#pragma once

#include "kernels/tile/dropout.h"
#include "kernels/tile/mask.h"
#include "kernels/tile/warp_softmax.h"
#include "kernels/volta/forward_block.h"

namespace sparkbench::volta {

/// A tile of scores, and what they become.
template <class Config>
struct ScoreTile {
  AccumulatorFragment<Config::kAccumulator> score[kRowGroups][Config::kKeySteps] = {};
  DropoutWords dropout[kRowGroups];
  float p[kRowGroups][Config::kKeySteps][8];  // times 2^kLog2 of Config::Scale
  PackedProbabilities<Config::kKeySteps> packed[kRowGroups];
};

/// The first so many keys are seen by the block, and by this warp.
template <class Config, class Machine>
SPARK_DEVICE int keys_of_block(const Machine& machine, const ForwardParams& params) {
  const int first_row = locate_block<Config>(machine, params).first_row;
  return params.mask.keys(first_row + Config::kBlockM - 1).end;
}
template <class Config, class Machine>
SPARK_DEVICE int keys_of_warp(const Machine& machine, const ForwardParams& params) {
  const int first_row = locate_block<Config>(machine, params).first_row;
  return params.mask.keys(first_row + kWarpRows * (machine.warp() + 1) - 1).end;
}

/// -inf for the keys that a row may not see, block_row being the first of the block.
template <class Config, class Machine>
SPARK_DEVICE void mask_warp_scores(Machine& machine, const ForwardParams& params, int block_row,
                                   int first_key, ScoreTile<Config>& tile) {
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    mask_scores(tile.score[g], params.mask, machine.lane(),
                block_row + kWarpRows * machine.warp() + kGridRows * g, first_key);
  }
}

/// The random bytes of a tile.
template <class Config, class Machine>
SPARK_DEVICE void draw_dropout(Machine& machine, const ForwardParams& params, int first_key,
                               DropoutWords (&words)[kRowGroups]) {
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    const ForwardBlock block = locate_block<Config>(machine, params);
    words[g] = dropout_words<Config::kAccumulator>(
        params.dropout, machine.lane(), block.batch_head(params),
        block.first_row + kWarpRows * machine.warp() + kGridRows * g, first_key);
  }
}

/// A value for each row of the scores, as one for each of O.
template <class Config, class Machine>
SPARK_DEVICE WarpRowValues<Config::kPv> output_rows(
    Machine& machine, const WarpRowValues<Config::kAccumulator>& value) {
  WarpRowValues<Config::kPv> of_output;
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    rows_of_layout<Config::kAccumulator, Config::kPv>(machine, value.of[g], of_output.of[g]);
  }
  return of_output;
}

/// P of steps [first_step, end_step), added to the sums, dropped and packed.
template <class Config, class Machine>
SPARK_DEVICE void probabilities_of_steps(Machine& machine, const ForwardParams& params,
                                         int first_step, int end_step,
                                         TileSoftmax<Config::kAccumulator>& softmax,
                                         ScoreTile<Config>& tile) {
  softmax.exponentials(machine, tile.score, first_step, end_step, params.scale_log2, tile.p);
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    if constexpr (Config::kHasDropout) {
      drop_steps(tile.p[g], params.dropout, tile.dropout[g], first_step, end_step);
    }
    tile.packed[g].template pack<typename Config::Scale>(machine, tile.p[g], first_step, end_step);
  }
}

}  // namespace sparkbench::volta
