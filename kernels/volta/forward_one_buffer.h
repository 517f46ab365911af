// Fused attention forward (forward.h) where K and V have one buffer each, of 64 keys: Q is read
// from shared memory half as often as with two buffers of 32 keys, and 64 keys cost two barriers as
// there.
//
//    1  Q tile and the first K tile to shared memory
//    2  for each tile of kBlockN keys that a row of the block may see:
//    3      S = Q K^T                                  tensor cores
//    4      the V tile from global memory to registers
//    5      S = -inf where masked                      only tiles that the mask cuts
//    6      m = rowmax(m, S)                           registers
//    7      l += P = exp(S - m); P = 0 where dropped   the first keys
//    8      the V tile to shared memory
//    9      the next K tile from global memory to registers
//   10      line 7                                     the other keys
//   11      O = rescale * O
//   12      for each kPassKeys of the tile:            for FP16 sums: of some columns of O,
//   13          P as fp16 to the warp's own shared memory        then of the others
//   14          O += P V                               tensor cores
//   15      the next K tile to shared memory
//   16  O / l, log-sum-exp to global memory
// Line 8 is where the block has read K, and line 15 where it has read V: two barriers a tile. Line
// 13 borrows what line 15 fills. The block is located anew wherever it is asked for: there is no
// register to keep it in. One loop serves masked tiles and others: with two, the compiler spills.
#pragma once

#include "kernels/volta/forward_score_tile.h"
#include "kernels/volta/tile/output_accumulator.h"

namespace sparkbench::volta {

/// What a warp carries from one tile of keys to the next: 32 rows.
template <class Config>
struct OneBufferState {
  RunningRows<Config::kAccumulator, typename Config::Scale> rows;
  AccumulatorFragment<Config::kOutput> o[kRowGroups][Config::kOutputGroups] = {};
};

/// Line 1. Each warp fills its own rows of either tile.
template <class Config, class Machine>
SPARK_DEVICE void load_query_and_first_keys(Machine& machine, const ForwardParams& params,
                                            ForwardTiles<Config>& tiles) {
  const ForwardBlock block = locate_block<Config>(machine, params);
  stage_queries<Config>(machine, params, block, tiles.q);
  typename Config::StagedKeys k;
  k.load(machine, block.keys(params.tensors.k.data, 0, params.mask.seqlen_k));
  k.store(machine, tiles.k);
  machine.barrier();
}

/// Line 3.
template <class Config, class Machine>
SPARK_DEVICE void scores_of_tile(Machine& machine, ForwardTiles<Config>& tiles,
                                 ScoreTile<Config>& tile) {
  matmul_scores<Config::kAccumulator>(machine, tiles.q, kWarpRows * machine.warp(), tiles.k,
                                      tile.score);
  machine.sync_warp();  // or the compiler moves line 4 up, where it has no registers
}

/// Lines 4 and 9: kBlockN keys from first_key on.
template <class Config, class Machine>
SPARK_DEVICE void load_keys(Machine& machine, const ForwardParams& params, const Half* tensor,
                            int first_key, typename Config::StagedKeys& staged) {
  const ForwardBlock block = locate_block<Config>(machine, params);
  const int key_end = keys_of_block<Config>(machine, params);
  staged.load_from_one_address(
      machine, block.keys_by_row<Config::kHeadDim>(params, tensor, first_key, key_end));
}

/// Line 5.
template <class Config, class Machine>
SPARK_DEVICE void mask_tile(Machine& machine, const ForwardParams& params, int first_key,
                            ScoreTile<Config>& tile) {
  const int block_row = locate_block<Config>(machine, params).first_row;
  if (first_key + Config::kBlockN <= params.mask.keys(block_row).end) return;
  mask_warp_scores<Config>(machine, params, block_row, first_key, tile);
}

/// Line 13 for the keys of steps first_step and on.
template <class Config, class Machine>
SPARK_DEVICE void store_pass(Machine& machine, ForwardTiles<Config>& tiles,
                             const ScoreTile<Config>& tile, int first_step) {
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    tile.packed[g].template store<Config::kAccumulator>(
        machine, *tiles.probabilities(machine.warp(), g), first_step);
  }
  machine.sync_warp();
}

/// Line 14 for these keys and column groups 2 * first_block and on.
template <class Config, Accumulator kSum, int kColumnGroups, class Machine>
SPARK_DEVICE void multiply_pass(Machine& machine, ForwardTiles<Config>& tiles, int first_step,
                                int first_block,
                                AccumulatorFragment<kSum> (&sum)[kRowGroups][kColumnGroups]) {
  typename ForwardTiles<Config>::Probabilities* const p[kRowGroups] = {
      tiles.probabilities(machine.warp(), 0), tiles.probabilities(machine.warp(), 1)};
  matmul_probabilities<kSum>(machine, p, tiles.v, first_block, sum, first_step);
  machine.sync_warp();
}

/// Lines 11 to 14.
template <class Config, class Machine>
SPARK_DEVICE void accumulate_passes(Machine& machine, ForwardTiles<Config>& tiles,
                                    const ScoreTile<Config>& tile,
                                    const WarpRowValues<Config::kAccumulator>& rescale,
                                    OneBufferState<Config>& state) {
  constexpr int kPassSteps = ForwardTiles<Config>::kPassKeys / kGridColumns;
  rescale_output(machine, output_rows<Config>(machine, rescale).of, state.o);
#pragma unroll
  for (int step = 0; step < Config::kKeySteps; step += kPassSteps) {
    store_pass<Config>(machine, tiles, tile, step);
    multiply_pass<Config>(machine, tiles, step, 0, state.o);
  }
}

/// The same where FP16 sums of the whole tile are added to an O in FP32, kTileGroups column groups
/// at a time: registers hold no more sums. Each takes the passes in the other order than the one
/// before, whose last P it finds in place.
template <class Config, class Machine>
SPARK_DEVICE void accumulate_column_groups(Machine& machine, ForwardTiles<Config>& tiles,
                                           const ScoreTile<Config>& tile,
                                           const WarpRowValues<Config::kAccumulator>& rescale,
                                           OneBufferState<Config>& state) {
  constexpr int kPassSteps = ForwardTiles<Config>::kPassKeys / kGridColumns;
  constexpr int kPasses = Config::kKeySteps / kPassSteps;
#pragma unroll
  for (int first = 0; first < Config::kOutputGroups; first += Config::kTileGroups) {
    const bool is_reverse = first / Config::kTileGroups % 2 != 0;
    AccumulatorFragment<Config::kPv> sum[kRowGroups][Config::kTileGroups] = {};
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
      const int step = kPassSteps * (is_reverse ? kPasses - 1 - pass : pass);
      if (first == 0 || pass != 0) store_pass<Config>(machine, tiles, tile, step);
      multiply_pass<Config>(machine, tiles, step, first / 2, sum);
    }
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
      for (int group = 0; group < Config::kTileGroups; ++group) {
        add_tile(machine, sum[g][group], rescale.of[g][0], state.o[g][first + group]);
      }
    }
  }
}

/// Lines 3 to 15.
template <class Config, class Machine>
SPARK_DEVICE void attend_tile(Machine& machine, const ForwardParams& params, int first_key,
                              ForwardTiles<Config>& tiles, OneBufferState<Config>& state) {
  const int next_key = first_key + Config::kBlockN;
  typename Config::StagedKeys staged;
  ScoreTile<Config> tile;
  machine.recompute_indices();
  scores_of_tile<Config>(machine, tiles, tile);  // line 3
  machine.recompute_indices();
  load_keys<Config>(machine, params, params.tensors.v.data, first_key, staged);  // line 4
  mask_tile<Config>(machine, params, first_key, tile);                           // line 5
  TileSoftmax<Config::kAccumulator> softmax(machine, tile.score, params.scale_log2,
                                            state.rows);  // line 6
  if constexpr (Config::kHasDropout) draw_dropout<Config>(machine, params, first_key, tile.dropout);
  probabilities_of_steps<Config>(machine, params, 0, Config::kEarlySteps, softmax, tile);  // line 7
  machine.recompute_indices();
  staged.store(machine, tiles.v);  // line 8
  machine.barrier_of_warps();
  machine.recompute_indices();
  // Past the last tile line 15 stores what nobody reads. The branch also keeps the compiler from
  // moving line 7 down here, where the sums would hold all scores in registers.
  if (next_key < keys_of_block<Config>(machine, params)) {  // line 9
    load_keys<Config>(machine, params, params.tensors.k.data, next_key, staged);
  }
  probabilities_of_steps<Config>(machine, params, Config::kEarlySteps, Config::kKeySteps, softmax,
                                 tile);  // line 10
  state.rows.add(machine, softmax.sum);
  if constexpr (Config::kPv == Config::kOutput) {  // lines 11 to 14
    accumulate_passes<Config>(machine, tiles, tile, softmax.rescale, state);
  } else {
    accumulate_column_groups<Config>(machine, tiles, tile, softmax.rescale, state);
  }
  machine.recompute_indices();
  staged.store(machine, tiles.k);  // line 15
  machine.barrier_of_warps();
}

/// Lines 4, 8, 9 and 15 of a tile that no row of the warp sees: its rows of K and V, for the
/// others.
template <class Config, class Machine>
SPARK_DEVICE void stage_tile(Machine& machine, const ForwardParams& params, int first_key,
                             ForwardTiles<Config>& tiles) {
  typename Config::StagedKeys staged;
  load_keys<Config>(machine, params, params.tensors.v.data, first_key, staged);
  staged.store(machine, tiles.v);
  machine.barrier_of_warps();
  load_keys<Config>(machine, params, params.tensors.k.data, first_key + Config::kBlockN, staged);
  staged.store(machine, tiles.k);
  machine.barrier_of_warps();
}

/// The kernel where K and V have one buffer.
template <class Config, class Machine>
SPARK_DEVICE void attention_forward_one_buffer(Machine& machine, const ForwardParams& params) {
  auto& tiles = machine.template shared<ForwardTiles<Config>>();
  load_query_and_first_keys<Config>(machine, params, tiles);
  OneBufferState<Config> state;
  int first_key = 0;  // line 2: tiles that the warp sees, then those that only later warps do
#pragma unroll 1
  for (; first_key < keys_of_warp<Config>(machine, params); first_key += Config::kBlockN) {
    attend_tile<Config>(machine, params, first_key, tiles, state);
  }
#pragma unroll 1
  for (; first_key < keys_of_block<Config>(machine, params); first_key += Config::kBlockN) {
    stage_tile<Config>(machine, params, first_key, tiles);
  }
  const ForwardBlock block = locate_block<Config>(machine, params);
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {  // line 16
    const int first_row = block.first_row + kWarpRows * machine.warp() + kGridRows * g;
    write_output<Config>(machine, params, block, first_row, state.rows.finished(machine, g),
                         state.o[g], output_tile<Config>(tiles.q, machine.warp(), g));
  }
}

}  // namespace sparkbench::volta
