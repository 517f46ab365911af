// Fused attention forward for Volta's m8n8k4: O = dropout(softmax(scale Q K^T + mask)) V.
// SparkAttention (Xu et al.), section 3.2, with the online softmax of FlashAttention-2.
//
// One block computes kBlockM query rows of one head, each of its warps 32 of them:
//    1  Q tile and the first K and V tiles to shared memory
//    2  for each tile of kBlockN keys that a row of the block may see:
//    3      the next K tile from global memory to registers
//    4      S = Q K^T                                  tensor cores
//    5      S = -inf where masked                      only tiles that the mask cuts
//    6      m, l, P = online softmax of S, in FP32     registers
//    7      P = 0 where dropped                        registers
//    8      P as fp16 to the warp's own shared memory
//    9      the next V tile from global memory to registers
//   10      O = rescale * O + P V                      tensor cores
//   11      the next K and V tiles to shared memory
//   12  O / l, log-sum-exp to global memory
// K and V have two buffers, so a tile costs one block barrier, and line 8 borrows the buffer that
// line 11 fills (forward_config.h). Where registers allow, other loops do better:
// forward_held_queries.h at head_dim 64, forward_one_buffer.h at 128.
//
// The softmax is FP32 in all. What accumulates in which type (forward_params.h):
//   FP32-ACC              S and O in FP32
//   mixed                 S in FP16; P V straight into an O in FP32
//   FP16-ACC              S in FP16, and so P V inside one tile of keys; the running O in FP32
//   FP16-ACC, O in FP16   O is the FP16 accumulator of all tiles (the paper's, section 3.2.1)
//
// Limits: head_dim 64 or 128; fp16 tensors, 16-byte aligned; seqlen_q and seqlen_k >= 1, any.
#pragma once

#include "kernels/tile/dropout.h"
#include "kernels/tile/mask.h"
#include "kernels/volta/forward_block.h"
#include "kernels/volta/forward_held_queries.h"
#include "kernels/volta/forward_one_buffer.h"
#include "kernels/volta/tile/output_accumulator.h"

namespace sparkbench::volta {

/// What a warp carries from one tile of keys to the next: 32 rows.
template <class Config>
struct ForwardState {
  OnlineSoftmax<Config::kAccumulator, typename Config::Scale> softmax[kRowGroups];
  AccumulatorFragment<Config::kOutput> o[kRowGroups][Config::kOutputGroups] = {};
};

/// Lines 5 to 8 for one 16-row group. `score` comes as scores.
template <class Config, bool kIsMasked, class Machine>
SPARK_DEVICE void probabilities_of_group(
    Machine& machine, const ForwardParams& params, const ForwardBlock& block, int first_key,
    int first_row, float (&score)[Config::kKeySteps][8],
    OnlineSoftmax<Config::kAccumulator, typename Config::Scale>& softmax,
    float (&rescale)[Config::Layout::kRowsPerLane], ProbabilityTile<Config::kBlockN>& p) {
  constexpr Accumulator kAccumulator = Config::kAccumulator;
  if constexpr (kIsMasked) {
    mask_scores<kAccumulator>(score, params.mask, machine.lane(), first_row, first_key);
  }
  // An FP16 accumulator may overflow to -inf, an FP32 one of finite halves cannot.
  constexpr bool kMaySeeNoKey = kIsMasked || kAccumulator == Accumulator::kFp16;
  softmax.template update<kMaySeeNoKey>(machine, score, params.scale_log2, rescale);
  if constexpr (Config::kHasDropout) {
    drop_probabilities<kAccumulator>(score, params.dropout, machine.lane(),
                                     block.batch_head(params), first_row, first_key);
  }
  store_probabilities<kAccumulator, typename Config::Scale>(machine, score, p);
}

/// Lines 4 to 8 for the warp's 32 rows and the tile of keys in tiles.k[buffer].
template <class Config, bool kIsMasked, class Machine>
SPARK_DEVICE void probabilities_of_tile(
    Machine& machine, const ForwardParams& params, const ForwardBlock& block, int first_key,
    int buffer, ForwardTiles<Config>& tiles, ForwardState<Config>& state,
    float (&rescale)[kRowGroups][Config::Layout::kRowsPerLane]) {
  const int warp_row = kWarpRows * machine.warp();
  AccumulatorFragment<Config::kAccumulator> s[kRowGroups][Config::kKeySteps] = {};
  matmul_scores<Config::kAccumulator>(machine, tiles.q, warp_row, tiles.k[buffer], s);  // line 4
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    float score[Config::kKeySteps][8];
#pragma unroll
    for (int step = 0; step < Config::kKeySteps; ++step) widen(machine, s[g][step], score[step]);
    probabilities_of_group<Config, kIsMasked>(
        machine, params, block, first_key, block.first_row + warp_row + kGridRows * g, score,
        state.softmax[g], rescale[g], *tiles.probabilities(buffer ^ 1, machine.warp(), g));
  }
}

/// Line 10.
template <class Config, class Machine>
SPARK_DEVICE void accumulate_tile(Machine& machine, int buffer, ForwardTiles<Config>& tiles,
                                  const float (&rescale)[kRowGroups][Config::Layout::kRowsPerLane],
                                  ForwardState<Config>& state) {
  ProbabilityTile<Config::kBlockN>* const p[kRowGroups] = {
      tiles.probabilities(buffer ^ 1, machine.warp(), 0),
      tiles.probabilities(buffer ^ 1, machine.warp(), 1)};
  machine.sync_warp();
  float of_output[kRowGroups][GridLayout<Config::kPv>::kRowsPerLane];
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    rows_of_layout<Config::kAccumulator, Config::kPv>(machine, rescale[g], of_output[g]);
  }
  accumulate_output<Config::kTileGroups, Config::kPv>(machine, p, tiles.v[buffer], of_output,
                                                      state.o);
  machine.sync_warp();
}

/// Lines 2 to 11 for the tiles that the mask cuts for some row of the block, or for those that it
/// does not.
template <class Config, bool kIsMasked, class Machine>
SPARK_DEVICE void attend(Machine& machine, const ForwardParams& params, ForwardTiles<Config>& tiles,
                         ForwardState<Config>& state) {
  const ForwardBlock block = locate_block<Config>(machine, params);
  const int unmasked_end =
      params.mask.keys(block.first_row).end / Config::kBlockN * Config::kBlockN;
  const int masked_end = params.mask.keys(block.first_row + Config::kBlockM - 1).end;
  const int last_row = block.first_row + kWarpRows * machine.warp() + kWarpRows - 1;
  const int warp_end = params.mask.keys(last_row).end;
  const int key_end = kIsMasked ? masked_end : unmasked_end;
  const int load_end = kIsMasked ? masked_end : params.mask.seqlen_k;
#pragma unroll 1
  for (int first_key = kIsMasked ? unmasked_end : 0; first_key < key_end;
       first_key += Config::kBlockN) {
    machine.recompute_indices();
    const int buffer = (first_key / Config::kBlockN) & 1;
    const int next_key = first_key + Config::kBlockN;
    const bool sees_tile = !kIsMasked || first_key < warp_end;
    typename Config::StagedKeys next_k, next_v;
    float rescale[kRowGroups][Config::Layout::kRowsPerLane];
    next_k.load(machine, block.keys(params.tensors.k.data, next_key, load_end));  // line 3
    if (sees_tile) {
      probabilities_of_tile<Config, kIsMasked>(machine, params, block, first_key, buffer, tiles,
                                               state, rescale);
    }
    next_v.load(machine, block.keys(params.tensors.v.data, next_key, load_end));  // line 9
    if (sees_tile) accumulate_tile<Config>(machine, buffer, tiles, rescale, state);
    next_k.store(machine, tiles.k[buffer ^ 1]);  // line 11
    next_v.store(machine, tiles.v[buffer ^ 1]);
    machine.barrier();
  }
}

/// The kernel where K and V have two buffers, and Q is in shared memory.
template <class Config, class Machine>
SPARK_DEVICE void attention_forward_two_buffers(Machine& machine, const ForwardParams& params) {
  auto& tiles = machine.template shared<ForwardTiles<Config>>();
  stage_first_tiles<Config>(machine, params, tiles);  // line 1
  ForwardState<Config> state;
  attend<Config, false>(machine, params, tiles, state);
  attend<Config, true>(machine, params, tiles, state);
  const ForwardBlock block = locate_block<Config>(machine, params);
#pragma unroll
  for (int g = 0; g < kRowGroups; ++g) {
    const int first_row = block.first_row + kWarpRows * machine.warp() + kGridRows * g;
    write_output<Config>(machine, params, block, first_row, state.softmax[g], state.o[g],
                         output_tile<Config>(tiles.q, machine.warp(), g));
  }
}

template <class Config, class Machine>
SPARK_DEVICE void attention_forward(Machine& machine, const ForwardParams& params) {
  if constexpr (Config::kLoop == KeyLoop::kHeldQueries) {
    attention_forward_held_queries<Config>(machine, params);
  } else if constexpr (Config::kLoop == KeyLoop::kOneBuffer) {
    attention_forward_one_buffer<Config>(machine, params);
  } else {
    attention_forward_two_buffers<Config>(machine, params);
  }
}

}  // namespace sparkbench::volta
