// dQ alone, query rows as blocks, for the deterministic backward pass of Volta's m8n8k4: no block
// adds to another's rows, so the bits do not depend on who comes first. Costs two products more
// than adding dQ up in backward.h (S and dP are computed twice), and needs no workspace for dQ.
//
// One block computes dQ for kBlockM query rows of one head:
//    1  Q and dO tiles and the first K and V tiles to shared memory; log-sum-exp and
//       D = rowsum(dO * O) to registers
//    2  for each tile of 32 keys that a row of the block may see:
//    3      S = Q K^T, -inf where masked; dP = dO V^T, 0 where dropped    tensor cores
//    4      dS = exp(scale S - lse) (dP - D)                              registers
//    5      dS as fp16 to shared memory
//    6      the next K and V tiles from global memory to registers
//    7      dQ = dQ + dS K                                                tensor cores
//    8      the next K and V tiles to shared memory
//    9  scale * dQ to global memory, in fp16
// Lines 5 and 8 take turns in the same buffers, so a tile costs three block barriers.
//
// Limits: those of the forward kernel.
#pragma once

#include "kernels/tile/dropout.h"
#include "kernels/tile/mask.h"
#include "kernels/tile/softmax_gradient.h"
#include "kernels/volta/backward_dq_block.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench::volta {

/// Lines 4 and 5 for group g of the warp's own: `score` comes as scores, `ds` as dP.
template <class Config, class Machine>
SPARK_DEVICE void store_score_gradient(Machine& machine, const BackwardParams& params,
                                       const BackwardDqBlock<Config>& block, int first_key, int g,
                                       float (&score)[Config::kKeySteps][8],
                                       float (&ds)[Config::kKeySteps][8],
                                       ProbabilityTile<Config::kBlockN>& tile) {
  using Layout = typename Config::Layout;
  const int first_row = block.first_row + kGridRows * (Config::kScoreGroups * machine.warp() + g);
  if (!block.all_seen.contains(Range{first_key, first_key + Config::kBlockN})) {
    mask_scores<Layout>(score, params.mask, machine.lane(), first_row, first_key);
  }
  if constexpr (Config::kHasDropout) {
    TileDropout<Layout, Config::kBlockN> dropout;
    dropout.draw(params.dropout, machine.lane(), block.batch_head, first_row, first_key);
    dropout.apply(params.dropout, 0, Config::kKeySteps, ds);
  }
  recompute_probabilities<Layout>(machine, params.scale_log2, block.statistics[g], score);
  score_gradients<Layout, ProbabilityScale<Config::kAccumulator>>(machine, block.statistics[g],
                                                                  score, ds);
  store_gradients<Config::kAccumulator>(machine, ds, tile);
}

/// Lines 3 to 5: the warp's share of dS for one tile of keys, in tiles.k[buffer] and
/// tiles.v[buffer].
template <class Config, class Machine>
SPARK_DEVICE void store_score_gradients(Machine& machine, const BackwardParams& params,
                                        const BackwardDqBlock<Config>& block, int first_key,
                                        int buffer, BackwardDqTiles<Config>& tiles) {
  constexpr Accumulator kAccumulator = Config::kAccumulator;
  const int first_group = Config::kScoreGroups * machine.warp();
  AccumulatorFragment<kAccumulator> s[Config::kScoreGroups][Config::kKeySteps] = {};
  AccumulatorFragment<kAccumulator> dp[Config::kScoreGroups][Config::kKeySteps] = {};
  matmul_scores<kAccumulator>(machine, tiles.q, kGridRows * first_group, tiles.k[buffer], s);
  matmul_scores<kAccumulator>(machine, tiles.d_o, kGridRows * first_group, tiles.v[buffer], dp);
#pragma unroll
  for (int g = 0; g < Config::kScoreGroups; ++g) {
    float score[Config::kKeySteps][8], ds[Config::kKeySteps][8];
#pragma unroll
    for (int step = 0; step < Config::kKeySteps; ++step) {
      widen(machine, s[g][step], score[step]);
      widen(machine, dp[g][step], ds[step]);
    }
    store_score_gradient<Config>(machine, params, block, first_key, g, score, ds,
                                 *tiles.gradients(buffer ^ 1, first_group + g));
  }
}

/// Line 7. FP16-ACC sums one tile of keys in FP16.
template <class Config, class Machine>
SPARK_DEVICE void add_dq(Machine& machine, int buffer, BackwardDqTiles<Config>& tiles,
                         DqOfWarp& dq) {
  const DqShare<Config> share(machine.warp());
  ProbabilityTile<Config::kBlockN>* const ds[kRowGroups] = {
      tiles.gradients(buffer ^ 1, share.first_group),
      tiles.gradients(buffer ^ 1, share.first_group + 1)};
  const int first_block = 2 * share.column_block;
  if constexpr (Config::kAccumulator == Accumulator::kFp32) {
    matmul_probabilities<Accumulator::kFp32>(machine, ds, tiles.k[buffer], first_block, dq);
  } else {
    AccumulatorFragment<Accumulator::kFp16> of_tile[kRowGroups][4] = {};
    matmul_probabilities<Accumulator::kFp16>(machine, ds, tiles.k[buffer], first_block, of_tile);
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
#pragma unroll
      for (int group = 0; group < 4; ++group) {
        add_tile(machine, of_tile[g][group], 1.0f, dq[g][group]);
      }
    }
  }
}

/// Lines 3 to 8.
template <class Config, class Machine>
SPARK_DEVICE void add_keys(Machine& machine, const BackwardParams& params,
                           const BackwardDqBlock<Config>& block, int first_key,
                           BackwardDqTiles<Config>& tiles, DqOfWarp& dq) {
  const int next_key = next_tile<Config::kBlockN>(block.keys, first_key);
  const int buffer = (first_key / Config::kBlockN) & 1;
  machine.recompute_indices();
  store_score_gradients<Config>(machine, params, block, first_key, buffer, tiles);
  typename Config::StagedKeys next_k, next_v;
  next_k.load(machine, block.rows(params.k, next_key));  // line 6
  next_v.load(machine, block.rows(params.v, next_key));
  machine.barrier();
  add_dq(machine, buffer, tiles, dq);
  machine.barrier();
  next_k.store(machine, tiles.k[buffer ^ 1]);  // line 8
  next_v.store(machine, tiles.v[buffer ^ 1]);
  machine.barrier();
}

/// Line 9.
template <class Config, class Machine>
SPARK_DEVICE void write_dq(Machine& machine, const BackwardParams& params,
                           const BackwardDqBlock<Config>& block, BackwardDqTiles<Config>& tiles,
                           const DqOfWarp& dq) {
  const DqShare<Config> share(machine.warp());
  float factor[Config::Layout::kRowsPerLane];
#pragma unroll
  for (float& value : factor) value = params.scale * params.dropout.keep_scale();
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    const int first_row = block.first_row + kGridRows * (share.first_group + g);
    OutputTile<64>& tile = *tiles.output(machine.warp(), g);
    store_output<Config::kAccumulator>(machine, tile, factor, dq[g]);
    machine.sync_warp();
    Half* const rows = params.dq.at(block.batch, first_row, block.head) + 64 * share.column_block;
    write_rows(machine, tile, {rows, params.dq.row_stride(), params.mask.seqlen_q - first_row});
  }
}

template <class Config, class Machine>
SPARK_DEVICE void attention_backward_dq(Machine& machine, const BackwardParams& params) {
  auto& tiles = machine.template shared<BackwardDqTiles<Config>>();
  const BackwardDqBlock<Config> block = locate_dq<Config>(machine, params);
  int first_key = first_tile<Config::kBlockN>(block.keys);
  load_first_tiles(machine, params, block, first_key, tiles);  // line 1
  DqOfWarp dq = {};
#pragma unroll 1
  while (first_key < block.keys.end) {  // line 2
    add_keys<Config>(machine, params, block, first_key, tiles, dq);
    first_key = next_tile<Config::kBlockN>(block.keys, first_key);
  }
  write_dq(machine, params, block, tiles, dq);
}

}  // namespace sparkbench::volta
